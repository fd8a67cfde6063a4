// Package nsx runs the NSX Manager of a sandbox: it listens beside the vCenters, has the gateway and the IP pools of the topology,
// and is in the configuration of the cloud controller manager.
//
// Floor 3.
package nsx

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/loopback"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
	sim "github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/nsx"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/nsx/tree"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Part is the NSX Manager of a sandbox. Set its fields before [Part.Start].
type Part struct {
	// Spec is the topology's; nil if it has none.
	Spec func() *topology.NSX
	// CA is the authority of the vCenters.
	CA func() *cert.CA
	// Saved returns the path of the file with the objects of the snapshot from which the sandbox boots, "" without one.
	Saved func() string
	// Changed is called after each change of an object.
	Changed func()
	// Block returns the number of the sandbox's block of loopback addresses, Port the port of its first vCenter.
	Block, Port func() int
	// Pods reports whether a cloud controller manager that uses NSX runs as pods: it then has a password in place of a certificate, which AddSecret
	// is called with.
	Pods      func() bool
	AddSecret func(...string) error
	// Names are further names and addresses by which clients reach the manager.
	Names func() []string
	// Dir gets the certificate of the cloud controller manager, and its key.
	Dir    string
	Log    *event.Log
	Logger *slog.Logger

	manager  atomic.Pointer[sim.Manager]
	password string // of the cloud controller manager; "" if it has a certificate
}

const (
	// host is the last number of the address, behind those of vCenters.
	host = 251
	// firstAddress and lastAddress are the last numbers of the addresses of pools without ranges: those before are for what the
	// sandbox itself gives to Services.
	firstAddress, lastAddress = 101, 250
	// User is the account of the cloud controller manager: a principal identity, or one with a password.
	User = "cloud-controller-manager"
)

// Manager returns the running manager, or nil.
func (p *Part) Manager() *sim.Manager { return p.manager.Load() }

// Start starts the manager and makes the objects of the topology.
func (p *Part) Start(ctx context.Context) error {
	l, err := loopback.ListenBeside(ctx, p.Block(), host, p.Port())
	if err != nil {
		return fmt.Errorf("NSX Manager: %w", err)
	}
	if p.Pods() {
		p.password = rand.Text()
		if err := p.AddSecret(p.password); err != nil {
			return errors.Join(err, l.Close())
		}
	}
	spec := p.Spec()
	m, err := sim.Start(l, sim.Options{
		CA: p.CA(), Realize: time.Duration(spec.Realization), Logger: p.Logger, OnMode: p.modeChanged,
		Changed:  func(string, string, string) { p.Changed() },
		Accounts: []sim.Account{{User: User, Password: p.password, Role: sim.EnterpriseAdmin}}, Names: p.Names(),
	})
	if err != nil {
		l.Close()
		return err
	}
	p.manager.Store(m)
	err = p.restore(m.Tree(), spec)
	if errors.Is(err, fs.ErrNotExist) {
		err = p.fill(m.Tree(), spec)
	}
	if err != nil {
		return fmt.Errorf("NSX Manager: %w", err)
	}
	if p.password == "" {
		if err := p.writeIdentity(); err != nil {
			return fmt.Errorf("NSX Manager: %w", err)
		}
	}
	p.Log.Append(event.Event{Plane: event.PlaneSandbox, Kind: "nsx.up", Message: "the NSX Manager answers at https://" + m.Addr()})
	return nil
}

// restore loads the objects of the snapshot. The error is [fs.ErrNotExist] without a snapshot.
func (p *Part) restore(objects *tree.Tree, spec *topology.NSX) error {
	data, err := os.ReadFile(p.Saved())
	if err != nil {
		return err
	}
	if data, err = p.readdress(data, spec); err == nil {
		err = objects.Load(bytes.NewReader(data))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", p.Saved(), err)
	}
	return nil
}

// readdress replaces the addresses of the sandbox that saved the objects by this sandbox's. The pools to which the topology gives no ranges
// show which those were.
func (p *Part) readdress(data []byte, spec *topology.NSX) ([]byte, error) {
	var saved struct {
		Nodes []struct {
			Path   string
			Object struct{ CIDR netip.Prefix }
		}
	}
	if err := json.Unmarshal(data, &saved); err != nil {
		return nil, err
	}
	for _, n := range saved.Nodes {
		at := slices.IndexFunc(spec.Pools, func(pool topology.NSXPool) bool { return n.Path == subnetPath(pool.Name, 1) })
		if at < 0 || len(spec.Pools[at].Ranges) > 0 || !n.Object.CIDR.IsValid() || !n.Object.CIDR.Addr().Is4() {
			continue
		}
		was := n.Object.CIDR.Addr().As4()
		old, now := fmt.Sprintf(`"127.1.%d.`, was[2]), fmt.Sprintf(`"127.1.%d.`, p.Block())
		return bytes.ReplaceAll(data, []byte(old), []byte(now)), nil
	}
	return data, nil
}

// subnetPath is the path of the n-th range of a pool.
func subnetPath(pool string, n int) string {
	return fmt.Sprintf("/infra/ip-pools/%s/ip-subnets/%d", pool, n)
}

// Save writes the objects to a file: nothing without a manager.
func (p *Part) Save(path string) error {
	m := p.Manager()
	if m == nil {
		return nil
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(m.Tree().Save(file), file.Close())
}

// modeChanged logs what happened to the API.
func (p *Part) modeChanged(from, to gate.Mode) {
	level := event.Warning
	if to.State == gate.Up {
		level = event.Info
	}
	p.Log.Append(event.Event{
		Plane: event.PlaneSandbox, Level: level, Kind: "gate." + string(to.State), Object: event.Object{Kind: "NSXManager", Name: "nsx"},
		Message: fmt.Sprintf("the NSX Manager's API was %s, is %s", from, to),
	})
}

// Stop ends the manager.
func (p *Part) Stop(ctx context.Context) error {
	m := p.Manager()
	if m == nil {
		return nil
	}
	return m.Close(ctx)
}

// gateway is the path of the topology's gateway.
func gateway(spec *topology.NSX) string { return "/infra/tier-1s/" + spec.Tier1 }

// fill makes the objects of the topology.
func (p *Part) fill(objects *tree.Tree, spec *topology.NSX) error {
	put := func(path string, o tree.Object) error {
		_, err := objects.Put(path, o, "admin")
		return err
	}
	if err := put(gateway(spec), tree.Object{"route_advertisement_types": []any{"TIER1_LB_VIP", "TIER1_STATIC_ROUTES"}}); err != nil {
		return err
	}
	if spec.Edge != topology.NoEdge {
		edge := tree.EdgeClusters + "/" + spec.Edge
		if err := objects.System(edge, tree.Object{}); err != nil {
			return err
		}
		if err := put(gateway(spec)+"/locale-services/default", tree.Object{"edge_cluster_path": edge}); err != nil {
			return err
		}
	}
	own := p.ownRanges(spec)
	for _, pool := range spec.Pools {
		path := "/infra/ip-pools/" + pool.Name
		if err := put(path, tree.Object{}); err != nil {
			return err
		}
		ranges := pool.Ranges
		if len(ranges) == 0 {
			ranges = []string{own[0]}
			own = own[1:]
		}
		for i, text := range ranges {
			r, err := topology.ParseRange(text)
			if err != nil {
				return err
			}
			subnet := tree.Object{
				"cidr":              network(r).String(),
				"allocation_ranges": []any{tree.Object{"start": r.First.String(), "end": r.Last.String()}},
			}
			if err := put(subnetPath(pool.Name, i+1), subnet); err != nil {
				return err
			}
		}
	}
	return nil
}

// ownRanges divides the sandbox's addresses among the pools without ranges.
func (p *Part) ownRanges(spec *topology.NSX) (all []string) {
	n := 0
	for _, pool := range spec.Pools {
		if len(pool.Ranges) == 0 {
			n++
		}
	}
	for i := range n {
		share := (lastAddress - firstAddress + 1) / n
		first := firstAddress + i*share
		all = append(all, fmt.Sprintf("127.1.%d.%d-127.1.%[1]d.%[3]d", p.Block(), first, first+share-1))
	}
	return all
}

// network is the smallest one with all addresses of a range.
func network(r topology.AddressRange) netip.Prefix {
	bits := r.First.BitLen()
	for !netip.PrefixFrom(r.First, bits).Contains(r.Last) {
		bits--
	}
	return netip.PrefixFrom(r.First, bits).Masked()
}

func (p *Part) certFile() string { return filepath.Join(p.Dir, "nsx.crt") }
func (p *Part) keyFile() string  { return filepath.Join(p.Dir, "nsx.key") }

// writeIdentity writes the certificate of the cloud controller manager.
func (p *Part) writeIdentity() error {
	pair, err := p.CA().Sign(cert.Leaf{CommonName: User})
	if err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(p.Dir, 0o700), os.WriteFile(p.certFile(), pair.Cert, 0o600), os.WriteFile(p.keyFile(), pair.Key, 0o600))
}

// Place is where a cloud controller manager reads its configuration.
type Place struct {
	// Host is where it reaches the manager, host:port; "" for the address at which the manager listens.
	Host string
	// CAFile is the path of the authority's certificate.
	CAFile string
	// Secret and Namespace are the Secret with the account; "" to have user and password in the configuration. They count if the
	// account has a password.
	Secret, Namespace string
}

// Account is the data of a Secret with the account of the cloud controller manager; nil if that has a certificate.
func (p *Part) Account() map[string][]byte {
	if p.password == "" {
		return nil
	}
	return map[string][]byte{"username": []byte(User), "password": []byte(p.password)}
}

// login returns the keys by which a cloud controller manager authenticates.
func (p *Part) login(at Place) map[string]any {
	switch {
	case p.password == "":
		return map[string]any{"clientAuthCertFile": p.certFile(), "clientAuthKeyFile": p.keyFile()}
	case at.Secret == "":
		return map[string]any{"user": User, "password": p.password}
	}
	return map[string]any{"secretName": at.Secret, "secretNamespace": at.Namespace}
}

// CloudConfig returns what a cloud controller manager is configured with, in upstream's YAML: nothing without a manager. The first
// pool is the one of the default class; each other has a class of its name.
func (p *Part) CloudConfig(at Place) ([]byte, error) {
	m := p.Manager()
	if m == nil {
		return nil, nil
	}
	nsxt := p.login(at)
	nsxt["host"], nsxt["caFile"] = cmp.Or(at.Host, m.Addr()), at.CAFile
	spec := p.Spec()
	classes := map[string]any{}
	for _, pool := range spec.Pools[1:] {
		classes[pool.Name] = map[string]any{"ipPoolName": pool.Name}
	}
	conf := map[string]any{
		"nsxt": nsxt,
		"loadBalancer": map[string]any{
			"ipPoolName": spec.Pools[0].Name, "size": "SMALL", "tier1GatewayPath": gateway(spec),
			"tcpAppProfileName": "default-tcp-lb-app-profile", "udpAppProfileName": "default-udp-lb-app-profile",
		},
	}
	if spec.Routes {
		conf["route"] = map[string]any{"routerPath": gateway(spec)}
	}
	if len(classes) > 0 {
		conf["loadBalancerClass"] = classes
	}
	return yaml.Marshal(conf)
}
