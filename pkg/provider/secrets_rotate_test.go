package provider

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// rotated is a place for credentials.
type rotation struct {
	name    string
	prepare func(*live) func(conf) // the configuration for it
	put     func(w *live, v *sim.VCenter, password string)
}

func rotations(t *testing.T) []rotation {
	dir := filepath.Join(t.TempDir(), "secrets")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return []rotation{
		{"secret", nil, func(w *live, v *sim.VCenter, password string) {
			w.changeSecret(func(s *corev1.Secret) { s.Data[v.Host()+".password"] = []byte(password) })
		}},
		{"directory", func(w *live) func(conf) {
			for _, v := range w.lab.VCenters() {
				replaceFile(t, filepath.Join(dir, v.Host()+".username"), v.User())
				replaceFile(t, filepath.Join(dir, v.Host()+".password"), v.Password())
			}
			return func(c conf) {
				delete(c.section("global"), "secretName")
				delete(c.section("global"), "secretNamespace")
				c.section("global")["secretsDirectory"] = dir
			}
		}, func(_ *live, v *sim.VCenter, password string) {
			replaceFile(t, filepath.Join(dir, v.Host()+".password"), password)
		}},
		{"file", func(w *live) func(conf) { return w.inline("us", "") }, func(w *live, v *sim.VCenter, password string) {
			w.edit(w.inline(v.Name(), password))
		}},
	}
}

// inline has the credentials in the configuration; one vCenter gets another password.
func (w *live) inline(name, password string) func(conf) {
	return func(c conf) {
		delete(c.section("global"), "secretName")
		delete(c.section("global"), "secretNamespace")
		for _, v := range w.lab.VCenters() {
			section := c.section("vcenter", v.Name())
			section["user"], section["password"] = v.User(), v.Password()
			if v.Name() == name && password != "" {
				section["password"] = password
			}
		}
	}
}

func (w *live) changeSecret(change func(*corev1.Secret)) {
	w.t.Helper()
	secrets := w.k8s.CoreV1().Secrets("kube-system")
	s, err := secrets.Get(w.t.Context(), "creds", metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	change(s)
	if _, err := secrets.Update(w.t.Context(), s, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// with returns the first line that contains the text, or "".
func (l *lines) with(text string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.b.String()) {
		if strings.Contains(line, text) {
			return line
		}
	}
	return ""
}

// Rotated credentials are soon used, from any source. With wrong ones the old session stays in use, no node is reported gone, and an
// event gives the reason; correct ones fix it. No log line or event contains a password.
func TestRotation(t *testing.T) {
	for _, r := range rotations(t) {
		t.Run(r.name, func(t *testing.T) {
			var log lines
			w := follow(t, nil, func(o *Options) {
				o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			})
			if r.prepare != nil {
				w.edit(r.prepare(w))
				eventually(t, "credentials moved", func() error {
					for _, vc := range w.now().cfg.VCenters {
						if vc.Secret.Name != "" {
							return errors.New(vc.Tenant)
						}
					}
					return nil
				})
			}
			us, _ := w.lab.VCenter("us")
			secret := []string{us.Password(), "wr0ng", "r0tated"}
			n := idNode("w1", w1UUID)
			w.served(n)
			first, eu := w.one("us"), w.one("eu")
			state := func() vcenter.State { return w.now().clients["us"].State() }

			r.put(w, us, "wr0ng")
			eventually(t, "refusal", func() error {
				if s := state(); !errors.Is(s.Err, vcenter.ErrInvalidLogin) || !s.Connected {
					return fmt.Errorf("connected %v, %w", s.Connected, s.Err)
				}
				return nil
			})
			w.expectEvent(ReasonLoginFailed, "vCenter us (", "the session made with the previous credentials stays in use")
			if exists, err := w.InstanceExists(t.Context(), n); !exists || err != nil {
				t.Errorf("exists %v, %v", exists, err)
			}
			if w.one("us") != first {
				t.Error("another session with credentials that were refused")
			}

			if err := us.SetPassword("r0tated"); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			r.put(w, us, "r0tated")
			eventually(t, "new session", func() error {
				if keys := w.sessions("us"); len(keys) != 1 || keys[0] == first {
					return fmt.Errorf("%d sessions", len(keys))
				}
				return state().Err
			})
			w.expectEvent(ReasonCredentialsRotated, "vCenter us (", "logged in with new credentials")
			t.Logf("in use after %s", time.Since(began).Round(time.Millisecond))
			w.served(n)
			if w.one("eu") != eu {
				t.Error("another session at the vCenter whose credentials did not change")
			}
			w.end() // so that all events are written
			for _, e := range w.allEvents() {
				_, _ = log.Write([]byte(e.Reason + ": " + e.Message + "\n"))
			}
			for _, password := range secret {
				if line := log.with(password); line != "" {
					t.Errorf("a password is told: %s", line)
				}
			}
		})
	}
}

// Deleting a Secret ends nothing: the session stays in use, and an event reports missing credentials.
func TestSecretDeleted(t *testing.T) {
	w := follow(t, nil, nil)
	first := w.one("us")
	secrets := w.k8s.CoreV1().Secrets("kube-system")
	s, err := secrets.Get(t.Context(), "creds", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := secrets.Delete(t.Context(), "creds", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	e := w.expectEvent(ReasonCredentialsMissing, "vCenter us (", "secret kube-system/creds: does not exist", "stays in use")
	if e.InvolvedObject.Kind != "Secret" || e.Type != corev1.EventTypeWarning {
		t.Errorf("%s event about %+v", e.Type, e.InvolvedObject)
	}
	if exists, err := w.InstanceExists(t.Context(), idNode("w1", w1UUID)); !exists || err != nil {
		t.Errorf("exists %v, %v", exists, err)
	}
	s.ResourceVersion = ""
	if _, err := secrets.Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.expectEvent(ReasonCredentialsFound, "vCenter us (")
	if w.one("us") != first {
		t.Error("another session")
	}
}

// After a change, the new Secret is watched, and the old one no longer is.
func TestSecretMoved(t *testing.T) {
	w := follow(t, nil, func(o *Options) { o.Pod = Pod{} })
	s, err := w.k8s.CoreV1().Secrets("kube-system").Get(t.Context(), "creds", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.Name, s.Namespace, s.ResourceVersion = "next", "vsphere", ""
	if _, err := w.k8s.CoreV1().Secrets("vsphere").Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	first := w.one("us")
	w.edit(func(c conf) {
		c.section("global")["secretName"] = "next"
		c.section("global")["secretNamespace"] = "vsphere"
	})
	e := w.expectEvent(ReasonConfigReloaded, "vcenter.us.secretName")
	if e.InvolvedObject.Kind != "Secret" || e.InvolvedObject.Name != "next" || e.Namespace != "vsphere" {
		t.Errorf("event about %+v", e.InvolvedObject)
	}
	w.secrets.mu.Lock()
	defer w.secrets.mu.Unlock()
	if len(w.secrets.watched) != 1 {
		t.Errorf("%d Secrets are followed", len(w.secrets.watched))
	}
	if w.one("us") != first {
		t.Error("another session with the same credentials")
	}
}

// Credentials that are moved to a missing Secret end nothing, and an event reports it.
func TestCredentialsMovedNowhere(t *testing.T) {
	for name, tc := range map[string]struct {
		edit func(conf)
		want string
	}{
		"secret": {func(c conf) { c.section("global")["secretName"] = "none" }, "secret kube-system/none: does not exist"},
		"directory": {func(c conf) {
			c["global"] = conf{"secretsDirectory": "/does/not/exist", "caFile": c.section("global")["caFile"]}
		}, "/does/not/exist"},
	} {
		t.Run(name, func(t *testing.T) {
			w := follow(t, nil, nil)
			first := w.one("us")
			w.edit(tc.edit)
			w.expectEvent(ReasonConfigReloaded, "vcenter.us.secretName")
			w.expectEvent(ReasonCredentialsMissing, "vCenter us (", tc.want, "stays in use")
			w.served(idNode("w1", w1UUID))
			if w.one("us") != first {
				t.Error("another session")
			}
			w.edit(nil)
			w.expectEvent(ReasonCredentialsFound, "vCenter us (")
		})
	}
}
