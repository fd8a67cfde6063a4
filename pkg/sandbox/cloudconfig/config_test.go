package cloudconfig

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/background"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/causality"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

const (
	listens = "127.0.0.11" // the host of the vCenter
	reached = "10.96.0.40" // the host by which pods reach it
)

// endpoint is a vCenter that nothing connects to.
type endpoint struct {
	vcenters.Endpoint
	name, host string
}

func (e endpoint) Name() string     { return e.name }
func (e endpoint) Host() string     { return e.host }
func (e endpoint) User() string     { return "u" }
func (e endpoint) Password() string { return "p" }

// newConfig returns a configuration of one vCenter, vc, in a cluster that has objects and nothing else. Render returns *conf.
func newConfig(t *testing.T, conf *string) *Config {
	t.Helper()
	log, client := event.NewLog(0), fake.NewClientset()
	c := &Config{
		Log: log, Logger: slog.New(slog.DiscardHandler), Causes: &causality.Finder{Log: log}, Background: &background.Groups{},
		Client:   func() kubernetes.Interface { return client },
		VCenters: func() vcenters.List { return vcenters.List{{Endpoint: endpoint{name: "vc", host: listens}}} },
		Render:   func(sim.CloudConfig) ([]byte, error) { return []byte(*conf), nil },
		File:     filepath.Join(t.TempDir(), "vsphere.conf"), Namespace: Namespace,
	}
	t.Cleanup(func() {
		if err := c.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

func requireEvents(t *testing.T, log *event.Log, after uint64, want ...event.Event) {
	t.Helper()
	got, _ := log.Read(after, 0)
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(event.Event{}, "Seq", "Time"), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// podsAt are pods that reach the vCenter at a host.
type podsAt struct {
	host       string
	conf       *string
	configured deploy.Config
}

func (p *podsAt) Config() (deploy.Config, error) {
	return deploy.Config{CA: []byte("ca"), Conf: func(deploy.ConfigLocation) ([]byte, error) { return []byte(*p.conf), nil }}, nil
}

func (p *podsAt) Host(vcenter string) string {
	if vcenter != "vc" {
		return ""
	}
	return p.host
}

func (p *podsAt) Configure(_ context.Context, c deploy.Config) error {
	p.configured = c
	return nil
}

// The ConfigMap is written when the content changes, and otherwise left to the user.
func TestUpdate(t *testing.T) {
	conf := "one"
	c := newConfig(t, &conf)
	c.Labels = map[string]string{"a": "b"}
	if err := c.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	maps := c.Client().CoreV1().ConfigMaps(Namespace)
	get := func() *corev1.ConfigMap {
		t.Helper()
		m, err := maps.Get(t.Context(), ConfigMap, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	secret, err := c.Client().CoreV1().Secrets(Namespace).Get(t.Context(), Secret, metav1.GetOptions{})
	if err != nil || secret.StringData[listens+".password"] != "p" || secret.Labels["a"] != "b" {
		t.Errorf("%+v, %v", secret, err)
	}
	m := get()
	if m.Data[Key] != "one" || m.Labels["a"] != "b" {
		t.Errorf("%+v", m)
	}
	m.Data[Key] = "edited"
	if _, err := maps.Update(t.Context(), m, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ render, want string }{{"one", "edited"}, {"two", "two"}, {"one", "one"}} {
		conf = step.render
		if err := c.Update(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := get().Data[Key]; got != step.want {
			t.Errorf("rendered %q: the ConfigMap has %q, want %q", step.render, got, step.want)
		}
	}
	if err := maps.Delete(t.Context(), ConfigMap, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	conf = "three"
	if err := c.Update(t.Context()); !apierrors.IsNotFound(err) || !strings.HasPrefix(err.Error(), "cloud config: ") {
		t.Errorf("no ConfigMap: %v", err)
	}
}

// Pods are configured with the Secret as the user left it, and the CSI driver is deployed before them.
func TestUpdatePods(t *testing.T) {
	conf, deployed := "one", 0
	p := &podsAt{host: reached, conf: &conf}
	c := newConfig(t, &conf)
	c.Pods = p
	c.Driver = &Driver{
		Host: p.Host, Configure: func(context.Context, map[string][]byte) error { return nil },
		Deploy: func(context.Context) error { deployed++; return nil },
	}
	if err := c.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	edited := secretWith(Namespace, Secret, map[string]string{reached + ".password": "edited"})
	if _, err := c.Client().CoreV1().Secrets(Namespace).Create(t.Context(), edited, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, next := range []string{"one", "two", "two"} {
		conf = next
		if err := c.Update(t.Context()); err != nil {
			t.Fatal(err)
		}
		if next == "one" && (deployed != 0 || p.configured.CA != nil) {
			t.Error("an unchanged configuration is written")
		}
	}
	if deployed != 1 || string(p.configured.CA) != "ca" || string(p.configured.Secret[reached+".password"]) != "edited" {
		t.Errorf("deployed %d times; %+v", deployed, p.configured)
	}
}

// What the user writes is copied to the file, and nothing else is done.
func TestProvided(t *testing.T) {
	conf := "rendered"
	c := newConfig(t, &conf)
	c.Provided = true
	if err := c.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, a := range c.Client().(*fake.Clientset).Actions() {
		if a.GetVerb() != "list" && a.GetVerb() != "watch" {
			t.Errorf("something was created: %v", a)
		}
	}
	maps := c.Client().CoreV1().ConfigMaps(Namespace)
	mine := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: ConfigMap}, Data: map[string]string{Key: "mine"}}
	if _, err := maps.Create(t.Context(), mine, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for {
		if data, err := os.ReadFile(c.File); err == nil && string(data) == "mine" {
			break
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatal("no file")
		}
	}
	if err := c.Update(t.Context()); err != nil {
		t.Error(err)
	}
	if m, err := maps.Get(t.Context(), ConfigMap, metav1.GetOptions{}); err != nil || m.Data[Key] != "mine" {
		t.Errorf("the user's ConfigMap: %v, %v", m, err)
	}
}

func TestDistinctHosts(t *testing.T) {
	conf := "one"
	c := newConfig(t, &conf)
	c.VCenters = func() vcenters.List {
		return vcenters.List{{Endpoint: endpoint{name: "us", host: listens}}, {Endpoint: endpoint{name: "eu", host: listens}}}
	}
	if err := c.Write(t.Context()); err == nil || !strings.Contains(err.Error(), "loopback addresses") {
		t.Errorf("got %v", err)
	}
}

func TestHost(t *testing.T) {
	conf := ""
	c := newConfig(t, &conf)
	p := &podsAt{host: reached}
	for _, tc := range []struct {
		name    string
		pods    Pods
		vcenter string
		want    string
	}{
		{"pods", p, "vc", reached},
		{"pods without a host yet", &podsAt{}, "vc", listens},
		{"a process", nil, "vc", listens},
		{"no vCenter", nil, "none", ""},
		{"no vCenter of pods", p, "none", ""},
	} {
		if c.Pods = tc.pods; c.Host(tc.vcenter) != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, c.Host(tc.vcenter), tc.want)
		}
	}
}

// A ConfigMap that another client changes between read and write is read again.
func TestUpdateConflict(t *testing.T) {
	conf := "first"
	c := newConfig(t, &conf)
	client := fake.NewClientset(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: ConfigMap}})
	c.Client = func() kubernetes.Interface { return client }
	conflicts := 0
	client.PrependReactor("update", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		if conflicts++; conflicts > 1 {
			return false, nil, nil
		}
		return true, nil, apierrors.NewConflict(corev1.Resource("configmaps"), ConfigMap, errors.New("changed"))
	})
	if err := c.Update(t.Context()); err != nil {
		t.Fatal(err)
	}
	m, err := client.CoreV1().ConfigMaps(Namespace).Get(t.Context(), ConfigMap, metav1.GetOptions{})
	if err != nil || m.Data[Key] != conf {
		t.Errorf("%v, %v, want %q", m.Data, err, conf)
	}
}
