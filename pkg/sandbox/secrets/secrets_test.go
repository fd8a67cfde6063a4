package secrets

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
)

// opened returns open secrets, in their own directory.
func opened(t *testing.T) *Secrets {
	t.Helper()
	dir, err := instance.Create(t.TempDir(), "test")
	if err != nil {
		t.Fatal(err)
	}
	s := &Secrets{Dir: dir, Logger: slog.New(slog.DiscardHandler), VCenters: func() vcenters.List { return nil }}
	if err := s.Know("before it is open"); err != nil {
		t.Error(err)
	}
	if got := s.Values(); len(got) > 0 {
		t.Errorf("%q is kept before there is a store", got)
	}
	for range 2 {
		if err := s.Open(); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := dir.Remove(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// What the Secrets of a cluster have is kept, but for users and empty values.
func TestObjects(t *testing.T) {
	s := opened(t)
	s.KnowObject(&corev1.Secret{Data: map[string][]byte{"vc.username": []byte("administrator@vc.local"), "vc.password": []byte("of a Secret"), "empty": nil}})
	want := []string{"of a Secret"}
	if got := s.Values(); !slices.Equal(got, want) {
		t.Errorf("values %q, want %q", got, want)
	}
	kept, err := secret.Read(s.Dir.Path()) // as a later process does, after a crash
	if err != nil || !slices.Equal(kept, want) {
		t.Errorf("kept %q, %v, want %q", kept, err, want)
	}
}

// The number of sessions that are kept is bounded.
func TestSessions(t *testing.T) {
	s := opened(t)
	for i := range maxSessions + 1 {
		s.KnowSession(fmt.Sprint("session ", i))
	}
	if got := s.Values(); len(got) != maxSessions || slices.Contains(got, fmt.Sprint("session ", maxSessions)) {
		t.Errorf("%d sessions are kept, want %d", len(got), maxSessions)
	}
}
