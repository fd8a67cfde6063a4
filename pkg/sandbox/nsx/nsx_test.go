package nsx

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/nsx/tree"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

func start(t *testing.T, spec *topology.NSX) *Part {
	t.Helper()
	return startFrom(t, spec, "")
}

// startFrom is start with the file of a snapshot.
func startFrom(t *testing.T, spec *topology.NSX, from string) *Part {
	t.Helper()
	ca, err := cert.NewCA("test")
	if err != nil {
		t.Fatal(err)
	}
	return begin(t, &Part{
		Spec: func() *topology.NSX { return spec }, CA: func() *cert.CA { return ca },
		Saved: func() string { return from }, Changed: func() {}, Block: func() int { return 249 }, Port: func() int { return 0 },
		Pods: func() bool { return false }, Names: func() []string { return nil }, Dir: t.TempDir(), Log: event.NewLog(0),
	})
}

// begin starts a part, which ends with the test.
func begin(t *testing.T, p *Part) *Part {
	t.Helper()
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return p
}

// TestPart: the configuration of the cloud controller manager leads to the manager, whose tree has what the topology says.
func TestPart(t *testing.T) {
	p := start(t, &topology.NSX{
		Pools: []topology.NSXPool{{Name: "services"}, {Name: "public", Ranges: []string{"203.0.113.10-203.0.113.20"}}, {Name: "third"}},
		Tier1: "workload", Edge: "edge", Realization: topology.Duration(time.Millisecond),
	})
	raw := configure(t, p, Place{CAFile: "ca.crt"})
	host, _ := raw["nsxt"]["host"].(string)
	if !strings.HasPrefix(host, "127.0.") || raw["loadBalancer"]["ipPoolName"] != "services" || len(raw["loadBalancerClass"]) != 2 {
		t.Errorf("the configuration is %v", raw)
	}
	pair, err := tls.LoadX509KeyPair(fmt.Sprint(raw["nsxt"]["clientAuthCertFile"]), fmt.Sprint(raw["nsxt"]["clientAuthKeyFile"]))
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{RootCAs: p.CA().Pool(), Certificates: []tls.Certificate{pair}}
	if status, body := pools(t, config, host, "", ""); status != http.StatusOK || !strings.Contains(body, `"result_count":3`) {
		t.Errorf("status %d, %s", status, body)
	}
	for path, want := range map[string][2]string{
		"/infra/ip-pools/services/ip-subnets/1": {"127.1.249.101", "127.1.249.175"},
		"/infra/ip-pools/public/ip-subnets/1":   {"203.0.113.10", "203.0.113.20"},
		"/infra/ip-pools/third/ip-subnets/1":    {"127.1.249.176", "127.1.249.250"},
	} {
		o, err := p.Manager().Tree().Get(path)
		if err != nil {
			t.Fatal(err)
		}
		r := o["allocation_ranges"].([]any)[0].(tree.Object)
		if r["start"] != want[0] || r["end"] != want[1] {
			t.Errorf("%s has %v", path, r)
		}
	}
}

// TestPods: pods reach the manager at another address, which its certificate has, and log in with the account of a Secret, or of the
// configuration where that is itself a Secret.
func TestPods(t *testing.T) {
	var known []string
	first := start(t, &topology.NSX{Pools: []topology.NSXPool{{Name: "services"}}, Tier1: "workload", Edge: "edge"})
	p := begin(t, &Part{
		Spec: first.Spec, CA: first.CA, Saved: first.Saved, Changed: first.Changed, Block: first.Block, Port: first.Port,
		Pods: func() bool { return true }, AddSecret: func(s ...string) error { known = append(known, s...); return nil },
		Names: func() []string { return []string{"10.96.0.239", "nsx-manager.example.svc"} }, Dir: t.TempDir(), Log: first.Log,
	})
	account := p.Account()
	user, password := string(account["username"]), string(account["password"])
	if user != User || password == "" || !slices.Contains(known, password) {
		t.Errorf("the account is %s, %s; the secrets are %v", user, password, known)
	}
	at := Place{Host: "10.96.0.239:443", CAFile: "/etc/cloud/ca.crt", Secret: "nsx", Namespace: "kube-system"}
	for _, tc := range []struct {
		secret string
		want   map[string]any
	}{
		{"nsx", map[string]any{"host": at.Host, "caFile": at.CAFile, "secretName": "nsx", "secretNamespace": "kube-system"}},
		{"", map[string]any{"host": at.Host, "caFile": at.CAFile, "user": user, "password": password}},
	} {
		at.Secret = tc.secret
		if diff := cmp.Diff(tc.want, configure(t, p, at)["nsxt"]); diff != "" {
			t.Errorf("with the Secret %q (-want +got):\n%s", tc.secret, diff)
		}
	}
	host := p.Manager().Addr()
	for _, name := range append(p.Names(), "") { // "" is its own address
		config := &tls.Config{RootCAs: p.CA().Pool(), ServerName: name}
		if status, body := pools(t, config, host, user, password); status != http.StatusOK {
			t.Errorf("%s: status %d, %s", name, status, body)
		}
		if status, _ := pools(t, config, host, user, "other"); status != http.StatusForbidden {
			t.Errorf("%s, with another password: status %d", name, status)
		}
	}
	if first.Account() != nil {
		t.Errorf("a process has the account %v", first.Account())
	}
}

// configure returns the configuration of a cloud controller manager.
func configure(t *testing.T, p *Part, at Place) (raw map[string]map[string]any) {
	t.Helper()
	text, err := p.CloudConfig(at)
	if err == nil {
		err = yaml.Unmarshal(text, &raw)
	}
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// pools lists the IP pools, as a user with a password or, with "", by certificate.
func pools(t *testing.T, config *tls.Config, host, user, password string) (status int, body string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config}}
	defer client.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+host+"/policy/api/v1/infra/ip-pools", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if user != "" {
		r.SetBasicAuth(user, password)
	}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(all)
}

// TestNoEdge: a load balancer of a gateway without an edge cluster is not realized.
func TestNoEdge(t *testing.T) {
	for edge, want := range map[string]string{"edge": tree.Realized, topology.NoEdge: tree.Failed} {
		p := start(t, &topology.NSX{Pools: []topology.NSXPool{{Name: "services"}}, Tier1: "workload", Edge: edge})
		objects := p.Manager().Tree()
		if _, err := objects.Put("/infra/lb-services/x", tree.Object{"connectivity_path": "/infra/tier-1s/workload"}, User); err != nil {
			t.Fatal(err)
		}
		if o, err := objects.Realize("/infra/lb-services/x"); err != nil || o["state"] != want {
			t.Errorf("with the edge %q: %v, %v", edge, o["state"], err)
		}
	}
}

// TestSaved: a manager that starts from a file has the objects that were saved, and none of the topology's beside them. In another
// sandbox it has that one's addresses, except in pools that the topology gives ranges.
func TestSaved(t *testing.T) {
	spec := &topology.NSX{
		Pools: []topology.NSXPool{{Name: "services"}, {Name: "public", Ranges: []string{"203.0.113.10-203.0.113.20"}}},
		Tier1: "workload", Edge: "edge", Routes: true,
	}
	first := start(t, spec)
	path := "/infra/ip-pools/services/ip-allocations/one"
	if err := first.Manager().Tree().Patch(path, tree.Object{}, "ccm"); err != nil {
		t.Fatal(err)
	}
	if err := first.Manager().Tree().Delete("/infra/tier-1s/workload/locale-services/default", "admin", false); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "nsx.json")
	if err := first.Save(file); err != nil {
		t.Fatal(err)
	}
	second := startFrom(t, spec, file)
	if diff := cmp.Diff(first.Manager().Tree().All(), second.Manager().Tree().All()); diff != "" {
		t.Error(diff)
	}
	if conf, err := second.CloudConfig(Place{CAFile: "ca.crt"}); err != nil || !strings.Contains(string(conf), "routerPath: /infra/tier-1s/workload") {
		t.Errorf("%s, %v", conf, err)
	}
	copied := begin(t, &Part{
		Spec: first.Spec, CA: first.CA, Saved: func() string { return file }, Changed: func() {}, Block: func() int { return 7 }, Port: first.Port,
		Pods: first.Pods, Names: first.Names, Dir: t.TempDir(), Log: first.Log,
	})
	text := func(p *Part) string {
		address, err := p.Manager().Tree().Realize(path)
		return fmt.Sprint(p.Manager().Tree().All(), address, err)
	}
	if diff := cmp.Diff(strings.ReplaceAll(text(first), "127.1.249.", "127.1.7."), text(copied)); diff != "" {
		t.Errorf("in another sandbox: %s", diff)
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	damaged := &Part{
		Spec: first.Spec, CA: first.CA, Saved: func() string { return file }, Changed: func() {}, Block: first.Block, Port: first.Port,
		Pods: first.Pods, Names: first.Names, Dir: t.TempDir(), Log: first.Log,
	}
	if err := damaged.Start(t.Context()); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a damaged file: %v", err)
	}
	if err := damaged.Stop(context.Background()); err != nil {
		t.Error(err)
	}
}
