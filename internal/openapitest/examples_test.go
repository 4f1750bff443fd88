package openapitest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pb33f/go-yaml"
	"github.com/pb33f/libopenapi/datamodel/high/base"
	v3 "github.com/pb33f/libopenapi/datamodel/high/v3"
	"github.com/pb33f/libopenapi/orderedmap"
)

// TestExamples compares every example of the document with its schema.
func TestExamples(t *testing.T) {
	d, err := load()
	if err != nil {
		t.Fatal(err)
	}
	bodies, others := 0, 0
	check := func(where string, schema *base.SchemaProxy, example *yaml.Node) {
		if example == nil {
			return
		}
		others++
		if err := d.checkExample(schema, example); err != nil {
			t.Errorf("%s: %v", where, err)
		}
	}
	media := func(where string, needed bool, content *orderedmap.Map[string, *v3.MediaType]) {
		for kind, m := range content.FromOldest() {
			found := 0
			check(where, m.Schema, m.Example)
			if m.Example != nil {
				found++
			}
			for name, example := range m.Examples.FromOldest() {
				found++
				check(where+" "+name, m.Schema, example.Value)
			}
			bodies += found
			if needed && found == 0 {
				t.Errorf("%s: %s has no example", where, kind)
			}
			if kind == "text/event-stream" && m.Example != nil {
				if err := d.checkStream([]byte(m.Example.Value)); err != nil {
					t.Errorf("%s: %v", where, err)
				}
			}
		}
	}
	parameters := func(list []*v3.Parameter) {
		for _, p := range list {
			check(p.Name, p.Schema, p.Example)
		}
	}
	for path, item := range d.model.Paths.PathItems.FromOldest() {
		parameters(item.Parameters)
		for method, operation := range item.GetOperations().FromOldest() {
			where := strings.ToUpper(method) + " " + path
			parameters(operation.Parameters)
			if operation.RequestBody != nil {
				media(where, true, operation.RequestBody.Content)
			}
			for code, response := range operation.Responses.Codes.FromOldest() {
				media(where+" "+code, false, response.Content)
			}
		}
	}
	for name, header := range d.model.Components.Headers.FromOldest() {
		check(name, header.Schema, header.Example)
	}
	if bodies < 300 || others < bodies {
		t.Errorf("%d examples of bodies were compared, and %d in all", bodies, others)
	}
}

func (d *document) checkExample(schema *base.SchemaProxy, example *yaml.Node) error {
	var v any
	if err := example.Decode(&v); err != nil {
		return err
	}
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if _, list := d.schemas.ValidateSchemaBytes(schema.Schema(), text); list != nil {
		return fmt.Errorf("%s: %w", text, explain(list))
	}
	return nil
}
