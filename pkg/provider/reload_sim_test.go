package provider

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/yaml"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// live is a provider that watches a file, with simulated vCenters and a fake API server.
type live struct {
	*Provider
	t      *testing.T
	lab    *sim.Lab
	k8s    *fake.Clientset
	file   string
	nudges *nudgeCount
	end    func()
}

type nudgeCount struct{ everything atomic.Int64 }

func (n *nudgeCount) Changed(string) {}
func (n *nudgeCount) ChangedAll()    { n.everything.Add(1) }

// conf is vsphere.conf as a value.
type conf map[string]any

func (c conf) section(names ...string) conf {
	for _, name := range names {
		next, ok := c[name].(conf)
		if !ok {
			next = conf{}
			c[name] = next
		}
		c = next
	}
	return c
}

// follow runs a provider with the file that edit makes from one with both vCenters and the labels.
func follow(t *testing.T, edit func(conf), tune func(*Options)) *live {
	t.Helper()
	w := &live{t: t, lab: sim.Start(t, zones), nudges: &nudgeCount{}}
	w.file = filepath.Join(t.TempDir(), "vsphere.conf")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "creds"}, Data: map[string][]byte{}}
	for _, v := range w.lab.VCenters() {
		secret.Data[v.Host()+".username"], secret.Data[v.Host()+".password"] = []byte(v.User()), []byte(v.Password())
	}
	w.k8s = fake.NewClientset(secret)
	w.write(w.conf(edit))
	opts := Options{
		CallTimeout: 2 * time.Second, MaxWait: time.Second, TagRefresh: time.Hour, StartWait: patience,
		ConfigFile: w.file, ConfigPeriod: 20 * time.Millisecond, ReloadWait: time.Second, Resyncer: w.nudges,
		Pod: Pod{Namespace: "kube-system", Name: "ccm-1"},
	}
	if tune != nil {
		tune(&opts)
	}
	cfg, err := config.LoadFile(w.file, opts.ConfigOptions...)
	if err != nil {
		t.Fatal(err)
	}
	if w.Provider, err = New(cfg, opts); err != nil {
		t.Fatal(err)
	}
	// As with leader election: the context of Initialize outlives the provider.
	w.end = func() {
		w.Close()
		w.Wait()
	}
	t.Cleanup(w.end)
	w.start(context.Background(), w.k8s)
	return w
}

// conf returns the usual configuration, edited.
func (w *live) conf(edit func(conf)) string {
	w.t.Helper()
	c := conf{
		"global":  conf{"secretName": "creds", "secretNamespace": "kube-system", "caFile": w.lab.CAFile},
		"labels":  conf{"region": "k8s-region", "zone": "k8s-zone"},
		"vcenter": conf{},
	}
	for _, v := range w.lab.VCenters() {
		c.section("vcenter")[v.Name()] = conf{"server": v.Host(), "port": v.Port()}
	}
	if edit != nil {
		edit(c)
	}
	text, err := yaml.Marshal(c)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

func (w *live) edit(edit func(conf)) { w.t.Helper(); w.write(w.conf(edit)) }

func (w *live) write(text string) { w.t.Helper(); replaceFile(w.t, w.file, text) }

// replaceFile replaces a file atomically.
func replaceFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		t.Fatal(err)
	}
}

// expectEvent waits for an event with the reason and all texts, and returns it.
func (w *live) expectEvent(reason string, texts ...string) corev1.Event {
	w.t.Helper()
	var found corev1.Event
	eventually(w.t, "event "+reason, func() error {
		var all []string
		for _, e := range w.allEvents() {
			if e.Reason == reason && !slices.ContainsFunc(texts, func(s string) bool { return !strings.Contains(e.Message, s) }) {
				found = e
				return nil
			}
			all = append(all, e.Reason+": "+e.Message)
		}
		return fmt.Errorf("none with %q among %q", texts, all)
	})
	return found
}

func (w *live) allEvents() []corev1.Event {
	w.t.Helper()
	list, err := w.k8s.CoreV1().Events(metav1.NamespaceAll).List(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return list.Items
}

// sessions returns the keys of the SOAP sessions at a vCenter.
func (w *live) sessions(name string) []string {
	w.t.Helper()
	v, ok := w.lab.VCenter(name)
	if !ok {
		w.t.Fatalf("no vCenter %s", name)
	}
	var keys []string
	for _, s := range v.Sessions() {
		if !s.REST {
			keys = append(keys, s.Key)
		}
	}
	return keys
}

// one waits until there is one session at a vCenter, and returns it.
func (w *live) one(name string) string {
	w.t.Helper()
	var keys []string
	eventually(w.t, "one session at "+name, func() error {
		if keys = w.sessions(name); len(keys) != 1 {
			return fmt.Errorf("%d sessions", len(keys))
		}
		return nil
	})
	return keys[0]
}

// served waits until a node has metadata, and returns region and zone.
func (w *live) served(n *corev1.Node) string {
	w.t.Helper()
	var zone string
	eventually(w.t, "metadata of "+n.Name, func() error {
		m, err := w.InstanceMetadata(w.t.Context(), n)
		if err != nil {
			return err
		}
		zone = m.Region + "/" + m.Zone
		return nil
	})
	return zone
}

// stays fails if a node is reported gone.
func (w *live) stays(n *corev1.Node) {
	w.t.Helper()
	if exists, err := w.InstanceExists(w.t.Context(), n); !exists && err == nil {
		w.t.Errorf("node %s is called gone", n.Name)
	}
}

func (w *live) zone(n *corev1.Node, want string) {
	w.t.Helper()
	eventually(w.t, "zone "+want, func() error {
		if got := w.served(n); got != want {
			return errors.New(got)
		}
		return nil
	})
}

func idNode(name, uuid string) *corev1.Node { return node(name, "vsphere://"+uuid, "") }

// hold sets the mode of a vCenter's gate.
func hold(t *testing.T, v *sim.VCenter, m gate.Mode) {
	t.Helper()
	if err := v.Gate().Set(t.Context(), m); err != nil {
		t.Fatal(err)
	}
}

func down() gate.Mode { return gate.Mode{State: gate.Down} }
