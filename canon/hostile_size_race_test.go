//go:build race

package canon

// hostileSize is less than the largest body, as the race detector takes its time.
const hostileSize = 500_000
