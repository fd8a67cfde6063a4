package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/explain"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
)

// An explanation puts every VM into the region and zone that the provider puts it into, wherever the tags are.
func TestZoneAsTheProvider(t *testing.T) {
	s := withVCenters(t, "zones-us-eu")
	vc := s.vcenters.Find("us")
	west := func(kind, name string) ref {
		t.Helper()
		for _, o := range vc.Inventory.Items(kind) {
			if o.Name == name {
				return o.Ref
			}
		}
		t.Fatalf("no %s %s", kind, name)
		return ref{}
	}
	dc, host, cluster := west("Datacenter", "dcwest"), west("HostSystem", "esx-west-1"), west("ClusterComputeResource", "west")
	for _, step := range []struct {
		name   string
		change func(context.Context, *tags.Manager) error
	}{
		{"as it is", func(context.Context, *tags.Manager) error { return nil }},
		{"a host contradicts", func(ctx context.Context, m *tags.Manager) error { return m.AttachTag(ctx, "us-east", host) }},
		{"a datacenter has no zone", func(ctx context.Context, m *tags.Manager) error { return m.DetachTag(ctx, "us-west", dc) }},
		{"a datacenter has none at all", func(ctx context.Context, m *tags.Manager) error { return m.DetachTag(ctx, "us", dc) }},
		{"a cluster has both", func(ctx context.Context, m *tags.Manager) error {
			return errors.Join(m.AttachTag(ctx, "us", cluster), m.AttachTag(ctx, "us-west", cluster))
		}},
	} {
		t.Run(step.name, func(t *testing.T) {
			err := vc.Client.DoREST(t.Context(), func(ctx context.Context, rc *rest.Client) error { return step.change(ctx, tags.NewManager(rc)) })
			if err != nil {
				t.Fatal(err)
			}
			inv := providerInventory(t, vc)
			for _, v := range vc.Inventory.VMs() {
				u, err := match.ParseUUID(v.UUID)
				if err != nil {
					t.Fatal(err)
				}
				one, err := inv.ByUUID(u).One()
				if err != nil {
					t.Fatal(err)
				}
				want := ""
				if z, err := inv.Zone(one); err == nil {
					want = fmt.Sprintf("region %s and zone %s,", z.Region, z.Zone)
				} else if missing := (*inventory.MissingTagError)(nil); errors.As(err, &missing) {
					want = "none: "
				}
				if got := placeOf(t, s, v.Name); !strings.HasPrefix(got, want) || want == "" {
					t.Errorf("%s: %q, want %q", v.Name, got, want)
				}
			}
		})
	}
}

// providerInventory is the provider's own index of a vCenter, in sync.
func providerInventory(t *testing.T, vc *vcenters.VCenter) *inventory.Inventory {
	t.Helper()
	client, err := vcenter.New(vcenter.Config{
		Name: vc.Name(), Server: vc.Host(), Port: vc.Port(), UserAgent: "test", Insecure: true,
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) { return vc.DialConsole(ctx) },
		Credentials: func(context.Context) (vcenter.Credentials, error) {
			return vcenter.Credentials{User: vc.User(), Password: vc.Password()}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	inv, err := inventory.New(inventory.Config{
		VCenters: []inventory.VCenterConfig{{Client: client}}, Categories: inventory.Categories{Region: "k8s-region", Zone: "k8s-zone"},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- inv.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	synced, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	if err := inv.WaitSynced(synced); err != nil {
		t.Fatal(err)
	}
	return inv
}

// placeOf is what an explanation of a VM says of its region and zone.
func placeOf(t *testing.T, s *Sandbox, name string) string {
	t.Helper()
	src := s.inspector.Sources(name)
	src.Around.Config.Is = &config.Config{Labels: config.Labels{Region: "k8s-region", Zone: "k8s-zone"}}
	for _, q := range explain.GatherVM(t.Context(), src, "us", name).Explain().Questions {
		if strings.HasPrefix(q.Ask, "Which region") {
			return q.Answer
		}
	}
	return ""
}
