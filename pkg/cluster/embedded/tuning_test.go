package embedded

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
)

func TestTune(t *testing.T) {
	c := newCluster(t, nil)
	cfg, err := contract.ReadControlPlane(c.config)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := contract.ReadTuning(cfg.Tuning); err != nil || got != (contract.Tuning{}) {
		t.Errorf("before any: %+v, %v", got, err)
	}
	pipe := c.Spec().Files[cfg.NotifyFD-3]
	for _, want := range []contract.Tuning{{EtcdDelay: 300 * time.Millisecond}, {}} {
		if err := c.Tune(want); err != nil {
			t.Fatal(err)
		}
		if n, err := pipe.Read(make([]byte, 8)); n != 1 || err != nil {
			t.Errorf("notified %d times, %v", n, err)
		}
		if got, err := contract.ReadTuning(cfg.Tuning); err != nil || got != want {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}

	// A child that does not read does not block the parent.
	full := make([]byte, 1<<20) // more than any pipe holds
	if err := c.notifier.far.SetWriteDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.notifier.far.Write(full); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the pipe is not full: %v", err)
	}
	if err := c.notifier.far.SetWriteDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Tune(contract.Tuning{}); err != nil {
		t.Error(err)
	}
}

// Clients that go another way verify the same server.
func TestVia(t *testing.T) {
	c := newCluster(t, nil)
	dir := t.TempDir()
	way, token := c.Via("127.0.0.1:4711"), filepath.Join(dir, "secret")
	if err := os.WriteFile(token, []byte("t"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func(path string) error{
		"node":  func(path string) error { return way.Node(path, "worker-1") },
		"token": func(path string) error { return way.Token(path, "default", token) },
	} {
		path := filepath.Join(dir, name)
		if err := write(path); err != nil {
			t.Fatal(err)
		}
		rest, err := clientcmd.BuildConfigFromFlags("", path)
		if err != nil {
			t.Fatal(err)
		}
		if rest.Host != "https://127.0.0.1:4711" || string(rest.CAData) != string(c.pki.ca.Cert) {
			t.Errorf("%s: %+v", name, rest)
		}
	}
	if c.Server() != "https://"+c.Addr() {
		t.Errorf("at %s and %s", c.Server(), c.Addr())
	}
}
