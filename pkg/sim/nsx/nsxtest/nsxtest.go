// Package nsxtest starts simulated NSX Managers for tests.
//
// Floor 2: of this module it imports pkg/sim/nsx.
package nsxtest

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/nsx"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/nsx/tree"
)

// Manager is an NSX Manager that runs until its test ends.
type Manager struct {
	testing.TB
	*nsx.Manager
	CA *cert.CA
	// Dir is a directory of the test, CAFile the certificate of CA in it.
	Dir, CAFile string
}

// Start starts a manager on a free port of 127.0.0.1. It sets Options.CA.
func Start(t testing.TB, o nsx.Options) *Manager {
	t.Helper()
	ca, err := cert.NewCA("test")
	if err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o.CA = ca
	m, err := nsx.Start(l, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := m.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	all := &Manager{TB: t, Manager: m, CA: ca, Dir: t.TempDir()}
	all.CAFile = all.File("ca.crt", ca.Cert)
	return all
}

// File writes a file in Dir and returns its path.
func (m *Manager) File(name string, content []byte) string {
	m.Helper()
	path := filepath.Join(m.Dir, name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		m.Fatal(err)
	}
	return path
}

// Gateway stores a tier-1 gateway with an edge cluster, on which load balancers can be placed.
func (m *Manager) Gateway(path string) {
	m.Helper()
	edge := tree.EdgeClusters + "/edge"
	if err := m.Tree().System(edge, tree.Object{}); err != nil {
		m.Fatal(err)
	}
	m.Put(path, tree.Object{})
	m.Put(path+"/locale-services/default", tree.Object{"edge_cluster_path": edge})
}

// Pool stores an IP pool with the addresses from first to last, which are of one /24, or gives it these addresses. An address that is
// given back is free at once.
func (m *Manager) Pool(id, name, first, last string) {
	m.Helper()
	path := "/infra/ip-pools/" + id
	subnet := tree.Object{
		"cidr": first[:strings.LastIndex(first, ".")] + ".0/24", "allocation_ranges": []any{tree.Object{"start": first, "end": last}},
	}
	if err := errors.Join(
		m.Tree().Patch(path, tree.Object{"display_name": name, "ip_release_delay": int64(0)}, "admin"),
		m.Tree().Patch(path+"/ip-subnets/one", subnet, "admin"),
	); err != nil {
		m.Fatal(err)
	}
}

// Put stores an object, as the user admin does.
func (m *Manager) Put(path string, o tree.Object) {
	m.Helper()
	if _, err := m.Tree().Put(path, o, "admin"); err != nil {
		m.Fatal(err)
	}
}
