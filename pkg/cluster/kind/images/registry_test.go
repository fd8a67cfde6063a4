package images

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// ask is an answer of a registry: its status, type and body.
func ask(t *testing.T, method, url string) (int, http.Header, []byte) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, r.Header, body
}

// What an archive has can be pulled as clients pull: the manifest by its tag and again by its digest, then all that it names.
func TestRegistry(t *testing.T) {
	path := filepath.Join(t.TempDir(), "images.tar")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	const name = "registry.k8s.io/csi-vsphere/driver:v3.7.0"
	w := NewWriter(f, "v1")
	if err := w.Add(t.Context(), bytes.NewReader(saved(t, name, "a layer").archive), Item{Name: name}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f.Close()
	a, err := Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := a.Registry()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if !slices.Equal(r.Hosts(), []string{"registry.k8s.io"}) {
		t.Errorf("hosts %q", r.Hosts())
	}
	s := httptest.NewServer(r)
	defer s.Close()
	at := s.URL + "/v2/csi-vsphere/driver/"

	if status, _, _ := ask(t, http.MethodGet, s.URL+"/v2/"); status != http.StatusOK {
		t.Errorf("there is no registry: %d", status)
	}
	status, header, _ := ask(t, http.MethodHead, at+"manifests/v3.7.0?ns=registry.k8s.io")
	digest := header.Get("Docker-Content-Digest")
	if status != http.StatusOK || digest == "" || header.Get("Content-Length") == "0" {
		t.Fatalf("%d, %v", status, header)
	}
	_, header, text := ask(t, http.MethodGet, at+"manifests/"+digest)
	type descriptor struct {
		MediaType, Digest string
		Size              int64
	}
	var manifest struct {
		MediaType string
		Config    descriptor
		Layers    []descriptor
	}
	if err := json.Unmarshal(text, &manifest); err != nil || manifest.MediaType != header.Get("Content-Type") || len(manifest.Layers) == 0 ||
		fmt.Sprintf("sha256:%x", sha256.Sum256(text)) != digest {
		t.Fatalf("%v: %s", err, text)
	}
	for _, d := range append(manifest.Layers, manifest.Config) {
		_, _, data := ask(t, http.MethodGet, at+"blobs/"+d.Digest)
		if fmt.Sprintf("sha256:%x", sha256.Sum256(data)) != d.Digest || int64(len(data)) != d.Size {
			t.Errorf("%+v is %q", d, data)
		}
	}
	if got := manifest.Layers[0].MediaType; got != "application/vnd.oci.image.layer.v1.tar" {
		t.Errorf("layers are of %s", got)
	}
	for _, path := range []string{"manifests/v3.7.1?ns=registry.k8s.io", "manifests/v3.7.0?ns=example.net", "blobs/sha256:0", "tags/list"} {
		if status, _, _ := ask(t, http.MethodGet, at+path); status != http.StatusNotFound {
			t.Errorf("%s: %d", path, status)
		}
	}
	if status, _, _ := ask(t, http.MethodPut, at+"manifests/v3.7.0"); status != http.StatusMethodNotAllowed {
		t.Errorf("something was pushed: %d", status)
	}
}
