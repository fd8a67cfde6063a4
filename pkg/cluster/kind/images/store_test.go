package images

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
)

func TestStore(t *testing.T) {
	d := &docker{t: t, has: map[string]held{
		"kindest/node:v1.36.4": {layers: []string{"sha256:1"}}, "docker.io/kindest/node:v1.36.1": {}, "kindest/node2:v1": {}, "kindest/node:<none>": {},
	}}
	s := d.store()
	all, err := s.Images(t.Context(), "kindest/node")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, i := range all {
		names[i.Name] = true
	}
	if diff := cmp.Diff(map[string]bool{"kindest/node:v1.36.4": true, "docker.io/kindest/node:v1.36.1": true}, names); diff != "" {
		t.Error(diff)
	}
	if none, err := s.Images(t.Context(), "example/none"); err != nil || none != nil {
		t.Errorf("%v, %v", none, err)
	}
	if _, err := s.Image(t.Context(), "example/none:1"); !coded.Is(err, Missing) {
		t.Errorf("an image that it does not have: %v", err)
	}
	if err := s.Pull(t.Context(), "example/none:1"); !coded.Is(err, Refused) {
		t.Errorf("an image that cannot be fetched: %v", err)
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string][2]string{
		"a/b:1": {"a/b", "1"}, "localhost:5000/a": {"localhost:5000/a", ""}, "localhost:5000/a:v1": {"localhost:5000/a", "v1"}, "a": {"a", ""},
	} {
		repository, tag := split(name)
		if got := [2]string{repository, tag}; got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
