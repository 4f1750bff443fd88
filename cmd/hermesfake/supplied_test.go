package main

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermesfake/hermesfake"
)

// TestSuppliedInputOutlivesTheServer: what was queued is there after kill -9, and no text is in any file or in the log.
func TestSuppliedInputOutlivesTheServer(t *testing.T) {
	binary, dir := build(t), t.TempDir()
	const text = "planted message text"
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	p := start(t, binary, "--port", "0", "--data", dir)
	do := func(method, path, body string, want int) (answer map[string]any) {
		t.Helper()
		status, reply := p.do(client, method, path, body)
		if status != want || json.Unmarshal([]byte(reply), &answer) != nil {
			t.Fatalf("%s %s: %d %s, want %d", method, path, status, reply, want)
		}
		return answer
	}
	const base = "/__admin/hermes/supplied-input"
	do("POST", base+"/sources", `{"source_id": "m", "text": "`+text+`"}`, 201)
	scope := do("POST", base, `{"contact_id": "anna", "session_id": "root",
		"inputs": [{"source_id": "m", "input_message_hash": "`+hermesfake.HashText(text)+`"}]}`, 201)["id"].(string)
	r, err := http.NewRequest("POST", p.url+"/v1/runs", strings.NewReader(`{"input": "`+text+`", "session_id": "root"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set(hermesfake.SuppliedInputHeader, scope)
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	var admitted struct {
		RunID string `json:"run_id"`
	}
	if err := json.NewDecoder(res.Body).Decode(&admitted); err != nil || res.StatusCode != 202 {
		t.Fatalf("%d %v", res.StatusCode, err)
	}
	res.Body.Close()
	do("POST", "/__admin/hermes/runs/"+admitted.RunID+"/observe", `{"status": "completed", "output": "`+text+`"}`, 200)
	result := do("GET", base+"/scopes/"+scope+"/result", "", 200)["result"].(map[string]any)
	p.kill()
	log := p.stderr.String()

	p = start(t, binary, "--port", "0", "--data", dir)
	queued := do("GET", base+"/queue", "", 200)["envelopes"].([]any)
	if len(queued) != 1 || queued[0].(map[string]any)["turn_id"] != result["turn_id"] {
		t.Errorf("queued %v, result %v", queued, result)
	}
	p.end(os.Interrupt)
	if log += p.stderr.String(); strings.Contains(log, "planted") || !strings.Contains(log, "RunCreate") {
		t.Errorf("the log:\n%s", log)
	}
	files := 0
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if strings.Contains(string(content), "planted") {
			t.Errorf("%s shows the text", path)
		}
		files++
		return err
	}); err != nil || files < 4 {
		t.Errorf("%d files, %v", files, err)
	}
}
