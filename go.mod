module github.com/hermesfake/hermesfake

go 1.25.0

require (
	github.com/benbjohnson/immutable v0.4.3
	github.com/cespare/xxhash/v2 v2.3.0
	github.com/jarcoal/httpmock v1.4.2
)

require golang.org/x/exp v0.0.0-20220518171630-0b5c67f07fdf // indirect
