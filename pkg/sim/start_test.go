package sim_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// zones is the classic zones tutorial, with a standalone host, a second network and datastores that not every host
// mounts.
const zones = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: test}
spec:
  vcenters:
    - name: vc-us
      folders: [{path: americas, region: us}]
      datacenters:
        - name: dcwest
          folder: americas
          zone: us-west
          networks: [{name: nodes}, {name: storage}]
          datastores:
            - {name: shared, capacity: 2Ti}
            - {name: local-1, capacity: 100Gi, hosts: [west-1]}
          clusters:
            - {name: c1, hosts: [{name: "west-{n}", replicas: 2, cpus: 32, memory: 128Gi}]}
            - {name: c2, zone: us-west-2, hosts: [{name: west-9}]}
          hosts: [{name: 10.7.0.1, zone: attic}]
          vms:
            - name: cp-1
              cluster: c1
              role: control-plane
              folder: k8s/masters
              hostname: cp-1.example.org
              cpus: 4
              memory: 8Gi
              nics:
                - {network: nodes, addresses: [198.18.5.1/16, "2001:db8::5/64"]}
                - {network: storage, addresses: [10.1.0.5/24]}
            - {name: "worker-{n}", replicas: 2, cluster: c1, role: worker, folder: k8s}
            - {name: off-1, host: 10.7.0.1, power: "off"}
        - name: dceast
          folder: americas
          zone: us-east
          networks: [{name: nodes}, {name: storage}]
          hosts: [{name: east-1}]
          vms: [{name: worker-3, role: worker}]
    - name: vc-eu
      datacenters:
        - name: dceu
          region: eu
          zone: eu-all
          clusters: [{name: c1, hosts: [{name: west-1}]}]
          vms: [{name: worker-4, role: worker}]
`

// start runs a topology for the time of the test.
func start(t testing.TB, source string, edit func(*sim.Options)) *sandbox {
	t.Helper()
	top, ca := load(t, source), authority(t)
	opts := sim.Options{Topology: top, CA: ca, Dir: t.TempDir(), Events: event.NewLog(0)}
	for i := range top.Spec.VCenters {
		opts.Addresses = append(opts.Addresses, fmt.Sprintf("127.0.0.%d:0", 1+i%2*int(linux)))
	}
	if edit != nil {
		edit(&opts)
	}
	s, err := sim.New(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return &sandbox{Simulation: s, ca: ca, events: opts.Events}
}

func load(t testing.TB, source string) *topology.Topology {
	t.Helper()
	top, err := topology.Load("test.yaml", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	return top
}

func authority(t testing.TB) *cert.CA {
	t.Helper()
	ca, err := cert.NewCA("test")
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

// linux is 1 where every address of 127.0.0.0/8 is there.
var linux = map[string]byte{"linux": 1}[runtime.GOOS]

type sandbox struct {
	*sim.Simulation
	ca     *cert.CA
	events *event.Log
}

func (s *sandbox) vcenter(t testing.TB, name string) *sim.VCenter {
	t.Helper()
	v, ok := s.VCenter(name)
	if !ok {
		t.Fatalf("no vCenter %q", name)
	}
	return v
}

// soap makes a client that verifies the vCenter's certificate and is not logged in.
func (s *sandbox) soap(t testing.TB, v *sim.VCenter) *vim25.Client {
	t.Helper()
	sc := soap.NewClient(v.URL(), false)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(s.ca.Cert)
	sc.DefaultTransport().TLSClientConfig = &tls.Config{RootCAs: pool}
	t.Cleanup(sc.CloseIdleConnections)
	c, err := vim25.NewClient(t.Context(), sc)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// login makes a client that is logged in.
func (s *sandbox) login(t testing.TB, v *sim.VCenter) *govmomi.Client {
	t.Helper()
	return s.loginAs(t, v, v.User(), v.Password())
}

// loginAs makes a client that is logged in as a user.
func (s *sandbox) loginAs(t testing.TB, v *sim.VCenter, user, password string) *govmomi.Client {
	t.Helper()
	c := s.soap(t, v)
	m := session.NewManager(c)
	if err := m.Login(t.Context(), url.UserPassword(user, password)); err != nil {
		t.Fatal(err)
	}
	return &govmomi.Client{Client: c, SessionManager: m}
}

// rest makes a REST client that is logged in.
func (s *sandbox) rest(t testing.TB, v *sim.VCenter) *rest.Client {
	t.Helper()
	c := rest.NewClient(s.soap(t, v))
	if err := c.Login(t.Context(), url.UserPassword(v.User(), v.Password())); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestMain(m *testing.M) { leakChecked(m) }

func TestStartRefuses(t *testing.T) {
	top, ca, dir := load(t, zones), authority(t), t.TempDir()
	for _, tc := range []struct {
		name string
		opts sim.Options
		want string
	}{
		{"no topology", sim.Options{CA: ca, Dir: dir}, "no topology"},
		{"no vCenter", sim.Options{Topology: &topology.Topology{}, CA: ca, Dir: dir}, "no vCenter"},
		{"negative delay", sim.Options{Topology: top, CA: ca, Dir: dir, BootDelay: -1}, "negative boot delay"},
		{"too few addresses", sim.Options{Topology: top, CA: ca, Dir: dir, Addresses: []string{"127.0.0.1:0"}}, "1 addresses for 2"},
		{"directory that cannot be written", sim.Options{
			Topology: top, CA: ca, Dir: "/dev/null", Addresses: []string{"127.0.0.1:0", "127.0.0.1:0"},
		}, "not a directory"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := sim.New(t.Context(), tc.opts)
			if err == nil {
				_ = s.Close(t.Context())
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %q, want %q in it", err, tc.want)
			}
		})
	}
}
