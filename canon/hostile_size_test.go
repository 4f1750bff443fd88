//go:build !race

package canon

// hostileSize is what the largest body of a request has, in bytes.
const hostileSize = 10_000_000
