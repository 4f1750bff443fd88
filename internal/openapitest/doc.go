// Package openapitest holds the tests that compare the OpenAPI document with what is on the wire. It is a module of its own, so that
// the validator is no dependency of those who use hermesfake.
package openapitest
