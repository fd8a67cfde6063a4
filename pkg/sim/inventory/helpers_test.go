package inventory_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/pbm"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/simulator"
	vapisim "github.com/vmware/govmomi/vapi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/guest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/profile"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// vcenter is a vCenter that was built from a topology, with a client.
type vcenter struct {
	*vim25.Client
	ctx      *simulator.Context
	target   inventory.Target
	spec     *topology.Spec
	built    *inventory.Built
	finder   *find.Finder
	policies *pbm.Client
	tagger   *tagger
}

// empty makes an empty vCenter, with files in dir.
func empty(dir string, version string) (*simulator.Service, inventory.Target, *tagger) {
	ctx := simulator.NewContext()
	content := simulator.VPX().ServiceContent
	content.About = inventory.About(content.About, version, "test")
	s := simulator.New(simulator.NewServiceInstance(ctx, content, simulator.VPX().RootFolder))
	s.Listen = &url.URL{Scheme: "https", Host: "127.0.0.1:0", Path: vim25.Path, User: url.UserPassword("user", "secret")}
	policies := profile.New(profile.Options{Base: ctx, InstanceUUID: content.About.InstanceUuid})
	s.RegisterSDK(policies.Registry())
	_, rest := vapisim.New(s.Listen, ctx.Map)
	tagger := new(tagger)
	return s, inventory.Target{
		Context: ctx, Dir: dir, Tagger: tagger, Tags: rest, Login: s.Listen.User, Policies: policies,
	}, tagger
}

// parse reads the spec of a topology with one vCenter, from what is below "vcenters: [{…".
func parse(t testing.TB, text string) *topology.Spec {
	t.Helper()
	const header = "apiVersion: sandbox.vsphere/v1alpha1\nkind: Topology\nmetadata: {name: test}\n"
	top, err := topology.Load("test.yaml", []byte(header+strings.ReplaceAll(text, "\t", "  ")))
	if err != nil {
		t.Fatal(err)
	}
	return &top.Spec
}

// build builds the first vCenter of the topology.
func build(t testing.TB, text string) *vcenter {
	t.Helper()
	spec := parse(t, text)
	s, target, _ := empty(t.TempDir(), spec.VCenters[0].Version)
	built, err := inventory.Make(t.Context(), target, &spec.VCenters[0], spec)
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, s, target, spec, built)
}

// serve serves what has been built.
func serve(t testing.TB, s *simulator.Service, target inventory.Target, spec *topology.Spec, built *inventory.Built) *vcenter {
	t.Helper()
	guests := guest.Start(target.Context, built.Guests, guest.Options{})
	t.Cleanup(guests.Close)
	server := s.NewServer()
	t.Cleanup(server.Close)
	g, err := govmomi.NewClient(t.Context(), server.URL, true)
	if err != nil {
		t.Fatal(err)
	}
	c := g.Client
	policies, err := pbm.NewClient(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	tagged, _ := target.Tagger.(*tagger)
	return &vcenter{
		Client: c, ctx: target.Context, target: target, spec: spec, built: built, finder: find.NewFinder(c, true),
		policies: policies, tagger: tagged,
	}
}

// get reads properties of an object.
func (v *vcenter) get(t testing.TB, ref types.ManagedObjectReference, dst any, paths ...string) {
	t.Helper()
	if err := property.DefaultCollector(v.Client).RetrieveOne(t.Context(), ref, paths, dst); err != nil {
		t.Fatal(err)
	}
}

// ref is the one object at an inventory path.
func (v *vcenter) ref(t testing.TB, path string) types.ManagedObjectReference {
	t.Helper()
	all, err := v.finder.ManagedObjectList(t.Context(), path)
	if err != nil || len(all) != 1 {
		t.Fatalf("%s: %d objects, %v", path, len(all), err)
	}
	return all[0].Object.Reference()
}

// at are the objects that were built at a path.
func (v *vcenter) at(path string) []types.ManagedObjectReference {
	var refs []types.ManagedObjectReference
	for _, o := range v.built.Objects {
		if o.Path == path {
			refs = append(refs, o.Ref)
		}
	}
	return refs
}

// tagger notes what is made.
type tagger struct {
	categories []category
	tags       map[string]string                         // identifier: "category/name"
	on         map[string][]types.ManagedObjectReference // by "category/name"
}

type category struct {
	id, name, description, cardinality string
	types                              []string
}

func (g *tagger) Category(id, name, description, cardinality string, types []string) error {
	g.categories = append(g.categories, category{id, name, description, cardinality, types})
	return nil
}

func (g *tagger) Tag(id, categoryID, name, _ string) error {
	if g.tags == nil {
		g.tags = make(map[string]string)
		g.on = make(map[string][]types.ManagedObjectReference)
	}
	for _, c := range g.categories {
		if c.id == categoryID {
			g.tags[id] = c.name + "/" + name
		}
	}
	return nil
}

func (g *tagger) Attach(tag string, ref types.ManagedObjectReference) error {
	g.on[g.tags[tag]] = append(g.on[g.tags[tag]], ref)
	return nil
}

func typeOf(v any) string { return fmt.Sprintf("%T", v) }

// writeFile writes a file, making the directories that lead to it.
func writeFile(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}
