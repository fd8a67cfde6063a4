package sim_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/vmware/govmomi"
)

// transfer moves a file to or from a datastore in the client's session.
func transfer(t *testing.T, c *govmomi.Client, method, target, content string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, target, strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Client.Client.Client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// TestUploadConcernsOneVM: empty files of VMs are names of one file on disk, which an upload must not show.
func TestUploadConcernsOneVM(t *testing.T) {
	s := start(t, zones, nil)
	v := s.vcenter(t, "vc-us")
	c := s.login(t, v)
	at := func(vm, file string) string {
		return "https://" + v.Addr() + "/folder/" + vm + "/" + file + "?dcPath=/americas/dcwest&dsName=shared"
	}
	for _, file := range []string{"vmware.log", "worker-1.nvram", "worker-1-flat.vmdk"} {
		if status, _ := transfer(t, c, http.MethodPut, at("worker-1", file), "of worker-1"); status != http.StatusOK {
			t.Fatalf("%s: status %d", file, status)
		}
		if _, text := transfer(t, c, http.MethodGet, at("worker-1", file), ""); text != "of worker-1" {
			t.Errorf("%s of worker-1 is %q", file, text)
		}
		other := strings.ReplaceAll(file, "worker-1", "worker-2")
		if status, text := transfer(t, c, http.MethodGet, at("worker-2", other), ""); status != http.StatusOK || text != "" {
			t.Errorf("%s of worker-2: status %d, %q", other, status, text)
		}
	}
	// What one uploads twice is what was uploaded last.
	for _, text := range []string{"a longer text", "short"} {
		transfer(t, c, http.MethodPut, at("new", "x"), text)
		if _, got := transfer(t, c, http.MethodGet, at("new", "x"), ""); got != text {
			t.Errorf("read %q, want %q", got, text)
		}
	}
	if status, _ := transfer(t, c, http.MethodPut, at("worker-1", "a..b"), "x"); status != http.StatusBadRequest {
		t.Errorf("dots: status %d", status)
	}
	if status, _ := transfer(t, c, http.MethodPost, at("worker-1", "vmware.log"), "x"); status != http.StatusConflict {
		t.Errorf("POST over a file: status %d", status)
	}
}

// TestConfigurationFile: the .vmx of a VM has its configuration, until a client writes another.
func TestConfigurationFile(t *testing.T) {
	s := start(t, zones, nil)
	v := s.vcenter(t, "vc-us")
	c := s.login(t, v)
	at := "https://" + v.Addr() + "/folder/worker-1/worker-1.vmx?dcPath=/americas/dcwest&dsName=shared"
	status, text := transfer(t, c, http.MethodGet, at, "")
	if status != http.StatusOK || !strings.Contains(text, "displayName = \"worker-1\"\n") {
		t.Errorf("status %d, %q", status, text)
	}
	if _, text := transfer(t, c, http.MethodGet, strings.Replace(at, "dcwest&", "dceast&", 1), ""); strings.Contains(text, "worker-1") {
		t.Errorf("in the other datacenter: %q", text)
	}
	transfer(t, c, http.MethodPut, at, "config.version = \"8\"\n")
	if _, text := transfer(t, c, http.MethodGet, at, ""); text != "config.version = \"8\"\n" {
		t.Errorf("after an upload: %q", text)
	}
}
