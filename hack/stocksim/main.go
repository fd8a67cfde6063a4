// Command stocksim replaces a vCenter of a user in tests: govmomi's unmodified simulator, served with TLS by its own
// authority, with one user whose password is checked. It sets up the inventory over the simulator's API, as an
// administrator would: tags for zones, the names and addresses that guests report, settings of VMs.
//
//	go run ./hack/stocksim -address 127.0.0.7:0 -clusters 2 -vms 3 -version 8.0.3 -nodes west -zones west -disk-uuid
//
// When it is ready it prints one line of JSON to standard output: its address, its user, and the files with them. It
// exits on TERM, Ctrl-C and the end of its standard input, which is when its parent dies, and leaves no files. Run one
// process per vCenter.
package main

import (
	"context"
	"crypto/rand"
	"crypto/sha1"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/google/uuid"
	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/stocksim"
)

// settings are what the flags say.
type settings struct {
	stocksim.Options
	authority string // file for the authority's certificate
	furnishing
}

func main() {
	s := settings{Options: stocksim.Options{User: "administrator@vsphere.local", Password: os.Getenv("STOCKSIM_PASSWORD")}}
	flag.StringVar(&s.Address, "address", "127.0.0.1:0", "`HOST:PORT` to listen on; port 0 is a free one")
	flag.StringVar(&s.User, "user", s.User, "`NAME` of the one who may log in; the password is $STOCKSIM_PASSWORD, or a new one")
	flag.IntVar(&s.Clusters, "clusters", 1, "compute clusters")
	flag.IntVar(&s.Hosts, "hosts", 1, "hosts in each cluster")
	flag.IntVar(&s.VMs, "vms", 2, "VMs in each cluster")
	flag.StringVar(&s.Version, "version", "", "release that it says it is, such as 8.0.3 (default: vcsim's own, 6.5.0)")
	flag.StringVar(&s.authority, "ca", "", "`FILE` to write the authority's certificate to (default: a temporary one)")
	flag.StringVar(&s.nodes, "nodes", "", "have the guests report names that begin with this `PREFIX`, addresses and running tools, and give the VMs UUIDs that no other vCenter has")
	flag.StringVar(&s.region, "zones", "", "tag the datacenter as this `REGION`, and each cluster as a zone of it")
	flag.BoolVar(&s.diskUUID, "disk-uuid", false, "set disk.enableUUID")
	flag.StringVar(&s.hardware, "hardware", "", "upgrade the VMs to this hardware `VERSION`, such as vmx-19")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // it only matters that it ends
		cancel()
	}()
	if err := run(ctx, s, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "stocksim:", err)
		os.Exit(1)
	}
}

// ready is what is printed.
type ready struct {
	// Address is host:port.
	Address  string `json:"address"`
	User     string `json:"user"`
	Password string `json:"password"`
	// CA is the file of the authority's certificate.
	CA string `json:"ca"`
}

// run serves until ctx ends.
func run(ctx context.Context, s settings, w io.Writer) error {
	t, err := newTrust(s.Address, s.authority)
	if err != nil {
		return err
	}
	defer t.remove()
	s.Certificate = &t.certificate
	if s.Password == "" {
		s.Password = password()
	}
	server, err := stocksim.Serve(s.Options)
	if err != nil {
		return err
	}
	defer server.Remove()
	if err := s.furnish(ctx, server.URL(), t.pool); err != nil {
		return err
	}
	err = json.NewEncoder(w).Encode(ready{Address: server.URL().Host, User: s.User, Password: s.Password, CA: t.file})
	if err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// trust is an authority for one certificate.
type trust struct {
	certificate tls.Certificate
	pool        *x509.CertPool
	file        string
	temporary   bool
}

// newTrust creates one for the host of an address, and writes the authority's certificate to file, or to a temporary file.
func newTrust(address, file string) (*trust, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("-address: %w", err)
	}
	ca, err := cert.NewCA("stocksim authority")
	if err != nil {
		return nil, err
	}
	leaf := cert.Leaf{CommonName: host, DNSNames: []string{host}}
	if ip := net.ParseIP(host); ip != nil {
		leaf.DNSNames, leaf.IPs = nil, []net.IP{ip}
	}
	pair, err := ca.Sign(leaf)
	if err != nil {
		return nil, err
	}
	t := &trust{certificate: pair.TLS(), pool: ca.Pool(), file: file}
	if file != "" {
		return t, os.WriteFile(file, ca.Cert, 0o644)
	}
	f, err := os.CreateTemp("", "stocksim-ca-*.pem")
	if err != nil {
		return nil, err
	}
	t.file, t.temporary = f.Name(), true
	if _, err = f.Write(ca.Cert); err == nil {
		err = f.Close()
	}
	return t, err
}

// remove takes a temporary file away.
func (t *trust) remove() {
	if t.temporary {
		_ = os.Remove(t.file) // it may be gone already
	}
}

// password returns a random password.
func password() string { return rand.Text() }

// furnishing is what an administrator sets over the API.
type furnishing struct {
	nodes    string // prefix of host names
	region   string
	diskUUID bool
	hardware string
}

// furnish sets it, as a client that verifies the server's certificate.
func (f furnishing) furnish(ctx context.Context, u *url.URL, trusted *x509.CertPool) error {
	if f == (furnishing{}) {
		return nil
	}
	s := soap.NewClient(u, false)
	s.DefaultTransport().TLSClientConfig.RootCAs = trusted
	vim, err := vim25.NewClient(ctx, s)
	if err != nil {
		return err
	}
	c := &govmomi.Client{Client: vim, SessionManager: session.NewManager(vim)}
	if err := c.Login(ctx, u.User); err != nil {
		return err
	}
	defer func() { _ = c.Logout(ctx) }() // the session also expires
	finder := find.NewFinder(vim)
	if f.region != "" {
		if err := f.zones(ctx, finder, rest.NewClient(vim), u.User); err != nil {
			return fmt.Errorf("zones: %w", err)
		}
	}
	vms, err := finder.VirtualMachineList(ctx, "/...")
	if err != nil {
		return err
	}
	for i, vm := range vms {
		if err := f.machine(ctx, vm, i+1); err != nil {
			return fmt.Errorf("%s: %w", vm.InventoryPath, err)
		}
	}
	return nil
}

// zones tags the datacenter as the region, and each cluster as a zone, by the categories that everybody uses.
func (f furnishing) zones(ctx context.Context, finder *find.Finder, c *rest.Client, who *url.Userinfo) error {
	if err := c.Login(ctx, who); err != nil {
		return err
	}
	m := tags.NewManager(c)
	tag := func(category, name string, on mo.Reference) error {
		id, err := m.CreateTag(ctx, &tags.Tag{Name: name, CategoryID: category})
		if err != nil {
			return err
		}
		return m.AttachTag(ctx, id, on)
	}
	var categories []string
	for _, name := range []string{"k8s-region", "k8s-zone"} {
		id, err := m.CreateCategory(ctx, &tags.Category{Name: name, Cardinality: "SINGLE"})
		if err != nil {
			return err
		}
		categories = append(categories, id)
	}
	dc, err := finder.DefaultDatacenter(ctx)
	if err != nil {
		return err
	}
	if err := tag(categories[0], f.region, dc.Reference()); err != nil {
		return err
	}
	clusters, err := finder.SetDatacenter(dc).ClusterComputeResourceList(ctx, "*")
	if err != nil {
		return err
	}
	for i, cluster := range clusters {
		if err := tag(categories[1], fmt.Sprintf("%s-%d", f.region, i+1), cluster.Reference()); err != nil {
			return err
		}
	}
	return nil
}

// machine sets what is asked for of one VM.
func (f furnishing) machine(ctx context.Context, vm *object.VirtualMachine, n int) error {
	if f.hardware != "" { // which is for VMs that are off
		for _, step := range []func() (*object.Task, error){
			func() (*object.Task, error) { return vm.PowerOff(ctx) },
			func() (*object.Task, error) { return vm.UpgradeVM(ctx, f.hardware) },
			func() (*object.Task, error) { return vm.PowerOn(ctx) },
		} {
			task, err := step()
			if err == nil {
				err = task.Wait(ctx)
			}
			if err != nil {
				return err
			}
		}
	}
	var spec types.VirtualMachineConfigSpec
	set := func(key, value string) {
		spec.ExtraConfig = append(spec.ExtraConfig, &types.OptionValue{Key: key, Value: value})
	}
	if f.nodes != "" {
		name := fmt.Sprintf("%s-%d", f.nodes, n)
		spec.Uuid, spec.InstanceUuid = own("bios "+name), own("instance "+name)
		set("SET.guest.hostName", name)
		set("SET.guest.ipAddress", fmt.Sprintf("10.%d.%d.%d", 64+sha1.Sum([]byte(f.nodes))[0]%64, n/200, n%200+10))
		set("SET.guest.toolsRunningStatus", "guestToolsRunning")
	}
	if f.diskUUID {
		set("disk.enableUUID", "TRUE")
	}
	if spec.Uuid == "" && len(spec.ExtraConfig) == 0 {
		return nil
	}
	task, err := vm.Reconfigure(ctx, spec)
	if err != nil {
		return err
	}
	return task.Wait(ctx)
}

// own is a UUID of a name, the same in every run.
func own(name string) string {
	return strings.ToLower(uuid.NewSHA1(uuid.NameSpaceDNS, []byte(name)).String())
}
