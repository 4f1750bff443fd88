package hermesfake_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hermesfake/hermesfake"
)

// TestDocumentHasEveryControl: whatever control a fake lists, its OpenAPI document has the path, and below it the method.
func TestDocumentHasEveryControl(t *testing.T) {
	hermes := hermesfake.Start(t)
	document := body(t, hermes, "GET", "/__admin/openapi.yaml", "", "")
	var index struct{ Routes []string }
	if err := json.Unmarshal([]byte(body(t, hermes, "GET", "/__admin", "", "")), &index); err != nil {
		t.Fatal(err)
	}
	if len(index.Routes) < 60 {
		t.Errorf("only %d routes", len(index.Routes))
	}
	for _, route := range index.Routes {
		method, path, _ := strings.Cut(route, " ")
		_, after, found := strings.Cut(document, "\n  "+path+":\n")
		operations, _, _ := strings.Cut(after, "\n  /")
		if !found || !strings.Contains(operations, "\n    "+strings.ToLower(method)+":\n") {
			t.Errorf("the document lacks %s", route)
		}
	}
}
