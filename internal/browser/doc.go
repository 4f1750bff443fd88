// Package browser holds the test of the page at /__admin/ui in a real browser.
package browser
