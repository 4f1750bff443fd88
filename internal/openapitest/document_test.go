package openapitest

import "testing"

// TestDocument compares the document with the schema of OpenAPI 3.1.
func TestDocument(t *testing.T) {
	d, err := load()
	if err != nil {
		t.Fatal(err)
	}
	if ok, list := d.checkItself(); !ok {
		t.Error(explain(list))
	}
}
