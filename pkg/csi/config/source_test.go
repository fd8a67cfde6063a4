package config_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

const topologyOfTwo = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: test}
spec:
  vcenters:
    - {name: us, datacenters: [{name: dc, clusters: [{name: c, hosts: [{name: h}]}]}]}
    - {name: eu, datacenters: [{name: dc, clusters: [{name: c, hosts: [{name: h}]}]}]}
`

// rig is simulated vCenters and the files that configure them.
type rig struct {
	*config.Source
	t   *testing.T
	lab *sim.Lab
	dir string
	k8s *fake.Clientset

	mu      sync.Mutex
	changes []*config.Config
	clients []*vcenter.Client
	stop    func()
}

func newRig(t *testing.T) *rig {
	t.Helper()
	return &rig{t: t, lab: sim.Start(t, topologyOfTwo), dir: t.TempDir(), k8s: fake.NewClientset()}
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) vc(name string) *sim.VCenter {
	v, ok := r.lab.VCenter(name)
	if !ok {
		r.t.Fatal("no vCenter " + name)
	}
	return v
}

// write replaces a file atomically.
func (r *rig) write(name, text string) string {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	r.must(os.MkdirAll(filepath.Dir(path), 0o700))
	r.must(os.WriteFile(path+".new", []byte(text), 0o600))
	r.must(os.Rename(path+".new", path))
	return path
}

// csi returns a csi-vsphere.conf for some of the vCenters.
func (r *rig) csi(more string, names ...string) string {
	text := "[Global]\ncluster-id = c\nca-file = " + r.lab.CAFile + "\n" + more
	for _, name := range names {
		v := r.vc(name)
		text += fmt.Sprintf("[VirtualCenter %q]\nport = %d\nuser = \"%s\"\npassword = \"%s\"\n",
			v.Host(), v.Port(), strings.ReplaceAll(v.User(), `\`, `\\`), v.Password())
	}
	return text
}

// run opens the file and runs the source until the test ends.
func (r *rig) run(file string) {
	r.t.Helper()
	var err error
	r.Source, err = config.Open(config.Options{
		ReadOptions: config.ReadOptions{ClusterID: "uid"}, File: file, Secrets: r.k8s, Period: 10 * time.Millisecond,
		UserAgent: "config-test", CallTimeout: 5 * time.Second,
	})
	r.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := r.Run(ctx, r.changed); err != nil {
			r.t.Error(err)
		}
	}()
	r.stop = sync.OnceFunc(func() {
		cancel()
		<-done
	})
	r.t.Cleanup(r.stop)
}

func (r *rig) changed(cfg *config.Config, clients []*vcenter.Client) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changes, r.clients = append(r.changes, cfg), clients
}

func (r *rig) last() *config.Config {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.changes) == 0 {
		return nil
	}
	return r.changes[len(r.changes)-1]
}

func (r *rig) connected() {
	r.t.Helper()
	for _, c := range r.Clients() {
		ctx, cancel := context.WithTimeout(r.t.Context(), 15*time.Second)
		if _, err := c.Wait(ctx); err != nil {
			r.t.Fatalf("%s: %v, %v", c.Name(), err, c.State().Err)
		}
		cancel()
	}
}

func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 15 s: %s", what)
		}
	}
}

// With any source of credentials, a changed password is used without a restart, by the same connection.
func TestRotation(t *testing.T) {
	secret := func(r *rig) *corev1.Secret {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "creds"}, Data: map[string][]byte{}}
		for _, v := range r.lab.VCenters() {
			s.Data[v.Host()+".username"], s.Data[v.Host()+".password"] = []byte(v.User()), []byte(v.Password())
		}
		return s
	}
	cloud := func(r *rig, global string) string {
		text := "global: {caFile: " + r.lab.CAFile + ", " + global + "}\nvcenter:\n"
		for _, v := range r.lab.VCenters() {
			text += fmt.Sprintf("  %s: {server: %s, port: %d}\n", v.Name(), v.Host(), v.Port())
		}
		return text
	}
	for _, tc := range []struct {
		name    string
		prepare func(*rig) string
		rotate  func(*rig)
	}{
		{
			"csi-vsphere.conf", func(r *rig) string {
				return r.write("csi-vsphere.conf", r.csi("[Labels]\ntopology-categories = a\n", "us", "eu"))
			},
			func(r *rig) { r.write("csi-vsphere.conf", r.csi("[Labels]\ntopology-categories = a\n", "us", "eu")) },
		},
		{"secret", func(r *rig) string {
			_, err := r.k8s.CoreV1().Secrets("kube-system").Create(r.t.Context(), secret(r), metav1.CreateOptions{})
			r.must(err)
			return r.write("vsphere.conf", cloud(r, "secretName: creds, secretNamespace: kube-system"))
		}, func(r *rig) {
			_, err := r.k8s.CoreV1().Secrets("kube-system").Update(r.t.Context(), secret(r), metav1.UpdateOptions{})
			r.must(err)
		}},
		{"directory", func(r *rig) string {
			for key, value := range secret(r).Data {
				r.write("secrets/"+key, string(value))
			}
			return r.write("vsphere.conf", cloud(r, "secretsDirectory: "+filepath.Join(r.dir, "secrets")))
		}, func(r *rig) {
			for key, value := range secret(r).Data {
				r.write("secrets/"+key, string(value))
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			r.run(tc.prepare(r))
			r.connected()
			clients := r.Clients()
			if len(clients) != 2 {
				t.Fatalf("%d connections", len(clients))
			}
			r.must(r.vc("us").SetPassword("another"))
			tc.rotate(r)
			var us *vcenter.Client
			for _, c := range clients {
				if c.Server() == r.vc("us").Host() {
					us = c
				}
			}
			eventually(t, "the new password is used", func() bool { return us.State().Rotations == 1 && us.State().Err == nil })
			if now := r.Clients(); now[0] != clients[0] || now[1] != clients[1] {
				t.Error("other connections")
			}
			r.stop()
			for _, v := range r.lab.VCenters() {
				if left := v.Sessions(); len(left) != 0 {
					t.Errorf("%s: sessions left: %v", v.Name(), left)
				}
			}
		})
	}
}

// A changed file is in force without a restart: limits, topology, vCenters. An invalid one is not.
func TestChange(t *testing.T) {
	r := newRig(t)
	file := r.write("csi-vsphere.conf", r.csi("", "us"))
	r.run(file)
	r.connected()
	us := r.Clients()[0]

	r.write("csi-vsphere.conf", r.csi("", "us")+"[Snapshot]\nglobal-max-snapshots-per-block-volume = 7\n[Labels]\ntopology-categories = a\n")
	eventually(t, "another limit", func() bool { return r.last() != nil && r.last().SnapshotLimit == 7 })
	if r.Config() != r.last() || r.Clients()[0] != us {
		t.Error("the configuration in force is another, or the connection is")
	}

	r.write("csi-vsphere.conf", r.csi("", "us", "eu")+"[Labels]\ntopology-categories = a\n")
	eventually(t, "another vCenter", func() bool { return len(r.Clients()) == 2 })
	r.connected()

	for name, text := range map[string]string{
		"nonsense":           "nonsense",
		"another cluster id": strings.Replace(r.csi("", "eu"), "cluster-id = c", "cluster-id = d", 1),
		"nothing":            "",
	} {
		before := r.Config()
		r.write("csi-vsphere.conf", text)
		time.Sleep(50 * time.Millisecond) // nothing signals that nothing happens
		if r.Config() != before {
			t.Errorf("%s is in force", name)
		}
	}
	r.must(os.Remove(file))
	time.Sleep(50 * time.Millisecond)

	r.write("csi-vsphere.conf", r.csi("", "eu"))
	eventually(t, "one less", func() bool { return len(r.Clients()) == 1 })
	eventually(t, "its sessions are gone", func() bool { return len(r.vc("us").Sessions()) == 0 })
	if len(r.clients) != 1 || r.clients[0].Server() != r.vc("eu").Host() {
		t.Errorf("told of %v", r.clients)
	}
}

// A Secret that is created later, or has nothing about a vCenter, is reported as such.
func TestSecretLater(t *testing.T) {
	r := newRig(t)
	us, eu := r.vc("us"), r.vc("eu")
	text := fmt.Sprintf("global: {caFile: %s, secretName: creds, secretNamespace: kube-system}\nvcenter:\n  us: {server: %s, port: %d}\n  eu: {server: %s, port: %d}\n",
		r.lab.CAFile, us.Host(), us.Port(), eu.Host(), eu.Port())
	r.run(r.write("vsphere.conf", text))
	says := func(name, what string) func() bool {
		return func() bool {
			for _, c := range r.Clients() {
				if err := c.State().Err; c.Name() == name && err != nil && strings.Contains(err.Error(), what) {
					return true
				}
			}
			return false
		}
	}
	eventually(t, "no Secret", says("us", "secret kube-system/creds: does not exist"))
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "creds"}, Data: map[string][]byte{
		us.Host() + ".username": []byte(us.User()), us.Host() + ".password": []byte(us.Password()),
	}}
	_, err := r.k8s.CoreV1().Secrets("kube-system").Create(t.Context(), s, metav1.CreateOptions{})
	r.must(err)
	eventually(t, "nothing about eu", says("eu", eu.Host()+".username"))
	eventually(t, "us is connected", func() bool { return r.Clients()[0].State().Connected || r.Clients()[1].State().Connected })
	r.must(r.k8s.CoreV1().Secrets("kube-system").Delete(t.Context(), "creds", metav1.DeleteOptions{}))
	eventually(t, "no Secret again", says("eu", "does not exist"))
}

func TestOpen(t *testing.T) {
	r := newRig(t)
	file := r.write("vsphere.conf", "global: {secretName: a, secretNamespace: b}\nvcenter:\n  us: {server: vc}\n")
	for name, o := range map[string]config.Options{
		"no user agent":            {File: file, ReadOptions: config.ReadOptions{ClusterID: "c"}},
		"no API server for Secret": {File: file, ReadOptions: config.ReadOptions{ClusterID: "c"}, UserAgent: "x"},
		"no cluster id":            {File: file, UserAgent: "x", Secrets: r.k8s},
		"no file":                  {File: file + "x", UserAgent: "x", Secrets: r.k8s},
	} {
		if _, err := config.Open(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
