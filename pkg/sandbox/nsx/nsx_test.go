package nsx

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
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
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ca.crt"), ca.Cert, 0o600); err != nil {
		t.Fatal(err)
	}
	p := &Part{
		Spec: func() *topology.NSX { return spec }, CA: func() *cert.CA { return ca }, CAFile: filepath.Join(dir, "ca.crt"),
		Saved: func() string { return from }, Changed: func() {}, Block: func() int { return 249 }, Port: func() int { return 0 }, Dir: filepath.Join(dir, "ccm"), Log: event.NewLog(0),
	}
	return begin(t, p)
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
	text, err := p.CloudConfig()
	if err != nil {
		t.Fatal(err)
	}
	var conf struct {
		NSXT struct {
			Host, CAFile, ClientAuthCertFile, ClientAuthKeyFile string
		}
	}
	// The keys are those of upstream, in camel case.
	var raw map[string]map[string]any
	if err := yaml.Unmarshal(text, &raw); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(raw["nsxt"])
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(again, &conf.NSXT); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(conf.NSXT.Host, "127.0.") || raw["loadBalancer"]["ipPoolName"] != "services" || len(raw["loadBalancerClass"]) != 2 {
		t.Errorf("the configuration is\n%s", text)
	}
	pair, err := tls.LoadX509KeyPair(conf.NSXT.ClientAuthCertFile, conf.NSXT.ClientAuthKeyFile)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: p.CA().Pool(), Certificates: []tls.Certificate{pair}}}}
	defer client.CloseIdleConnections()
	resp, err := client.Get("https://" + conf.NSXT.Host + "/policy/api/v1/infra/ip-pools")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(body), `"result_count":3`) {
		t.Errorf("status %d, %s, %v", resp.StatusCode, body, err)
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
	if conf, err := second.CloudConfig(); err != nil || !strings.Contains(string(conf), "routerPath: /infra/tier-1s/workload") {
		t.Errorf("%s, %v", conf, err)
	}
	copied := begin(t, &Part{
		Spec: first.Spec, CA: first.CA, CAFile: first.CAFile, Saved: func() string { return file }, Changed: func() {}, Block: func() int { return 7 }, Port: first.Port,
		Dir: t.TempDir(), Log: first.Log,
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
		Spec: first.Spec, CA: first.CA, Saved: func() string { return file }, Changed: func() {}, Block: first.Block, Port: first.Port, Dir: t.TempDir(), Log: first.Log,
	}
	if err := damaged.Start(t.Context()); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a damaged file: %v", err)
	}
	if err := damaged.Stop(context.Background()); err != nil {
		t.Error(err)
	}
}
