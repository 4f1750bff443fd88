//go:build !unix

package badgerstore_test

import "os"

func blocks(info os.FileInfo) int64 { return info.Size() }
