package main

import (
	"context"
	"crypto/sha1"
	"crypto/x509"
	"fmt"
	"net/url"
	"strings"

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
)

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
	defer func() { _ = c.Logout(ctx) }() // the session would end by itself
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
