package text

import "testing"

func TestAgent(t *testing.T) {
	for in, want := range map[string]string{
		"":                             "(unnamed)",
		"/1.2":                         "(unnamed)",
		"vsphere-cloud-provider":       "vsphere-cloud-provider",
		"govc/0.56.0 (linux)":          "govc",
		"Go-http-client/1.1":           "Go-http-client",
		"Mozilla (compatible; bad\x1b": "Mozilla",
		"a\x1b[31mb/1":                 "ab",
	} {
		if got := Agent(in); got != want {
			t.Errorf("Agent(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for in, want := range map[uint64]string{0: "0", 999: "999", 1000: "1,000", 65536: "65,536", 1234567: "1,234,567"} {
		if got := Count(in); got != want {
			t.Errorf("Count(%d) = %q, want %q", in, got, want)
		}
	}
}

func TestMethod(t *testing.T) {
	for in, want := range map[string]string{
		"WaitForUpdatesEx": "WaitForUpdatesEx",
		"POST /rest/com/vmware/cis/tagging/tag-association?~action=list-attached-tags": "POST tag-association list-attached-tags",
		"POST /rest/tagging/tag-association/{id}?~action=attach":                       "POST tag-association/{id} attach",
		"GET /{id}":             "GET {id}",
		"GET /api/session":      "GET session",
		"GET /api/appliance/":   "GET appliance",
		"DELETE /api/tags?x=y":  "DELETE tags",
		"(other)":               "(other)",
		"GET /\x1b]0;title\x07": "GET ",
	} {
		if got := Method(in); got != want {
			t.Errorf("Method(%q) = %q, want %q", in, got, want)
		}
	}
}
