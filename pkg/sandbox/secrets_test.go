package sandbox

import (
	"context"
	"slices"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret"
)

// Every password that a vCenter ever had is in the instance's store.
func TestPasswordsAreKnown(t *testing.T) {
	s := newSandbox(t, "single")
	s.opts.Place.Addresses = []string{"127.0.0.1:0"}
	if err := s.secrets.Open(); err != nil {
		t.Fatal(err)
	}
	if err := s.startVCenters(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.source.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		if err := s.secrets.Close(); err != nil {
			t.Error(err)
		}
	})
	vc := s.vcenters[0].Simulator()
	first := vc.Password()
	if err := vc.SetPassword("the second one"); err != nil {
		t.Fatal(err)
	}
	if err := vc.SetPassword("the third one"); err != nil {
		t.Fatal(err)
	}
	known, err := secret.Read(s.opts.Dir.Path()) // as one that comes after a crash does
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{first, "the second one", "the third one"} {
		if !slices.Contains(known, want) {
			t.Errorf("%q is not known", want)
		}
	}
}
