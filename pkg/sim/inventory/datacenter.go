package inventory

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// datacenter is a datacenter that is being built.
type datacenter struct {
	*topology.Datacenter
	path       string
	obj        *simulator.Datacenter
	hosts      []*host
	byName     map[string]*host
	clusters   map[string]*compute
	computes   []*compute
	networks   map[string]*network
	datastores map[string]*datastore
	taken      map[home]bool
	folders    map[string]*folder
}

func (b *builder) datacenter(spec *topology.Datacenter) error {
	f, err := b.folder(b.root, "", spec.Folder)
	if err != nil {
		return fmt.Errorf("folder %q: %w", spec.Folder, err)
	}
	ctx := b.fresh()
	var body *methods.CreateDatacenterBody
	ctx.WithLock(f, func() {
		body = f.CreateDatacenter(ctx, &types.CreateDatacenter{This: f.Self, Name: spec.Name}).(*methods.CreateDatacenterBody)
	})
	if err := vc.Err(body); err != nil {
		return err
	}
	dc := &datacenter{
		Datacenter: spec,
		path:       spec.InventoryPath(),
		obj:        b.sim.Map.Get(body.Res.Returnval).(*simulator.Datacenter),
		byName:     make(map[string]*host),
		clusters:   make(map[string]*compute),
		networks:   make(map[string]*network),
		datastores: make(map[string]*datastore),
		taken:      make(map[home]bool),
		folders:    make(map[string]*folder),
	}
	b.note(dc.path, dc.obj.Self, spec.Place, spec.Marks)
	for _, step := range []func(*datacenter) error{
		b.compute, b.connect, b.mount, b.pools, b.vmFolders, b.vms, b.placement,
	} {
		if err := b.ctx.Err(); err != nil {
			return err
		}
		if err := step(dc); err != nil {
			return err
		}
	}
	return nil
}

// members returns the named hosts of the datacenter and those of named clusters; all, if no name is given.
func (dc *datacenter) members(hosts, clusters []string) ([]*host, error) {
	if len(hosts)+len(clusters) == 0 {
		return dc.hosts, nil
	}
	wanted := make(map[*host]bool)
	for _, name := range hosts {
		h, ok := dc.byName[name]
		if !ok {
			return nil, fmt.Errorf("host %q not found in the datacenter", name)
		}
		wanted[h] = true
	}
	for _, name := range clusters {
		c, ok := dc.clusters[name]
		if !ok {
			return nil, fmt.Errorf("cluster %q: no such cluster in the datacenter", name)
		}
		for _, h := range c.hosts {
			wanted[h] = true
		}
	}
	var members []*host
	for _, h := range dc.hosts {
		if wanted[h] {
			members = append(members, h)
		}
	}
	return members, nil
}

// vmFolders creates the VM folders of the topology.
func (b *builder) vmFolders(dc *datacenter) error {
	root := b.sim.Map.Get(dc.obj.VmFolder).(*simulator.Folder)
	for _, spec := range dc.Folders {
		if err := b.markFolder(root, dc.path+"/vm", spec); err != nil {
			return err
		}
	}
	return nil
}

// markFolder creates a folder of the topology. prefix is the path of root.
func (b *builder) markFolder(root *simulator.Folder, prefix string, spec topology.Folder) error {
	f, err := b.folder(root, prefix, spec.Path)
	if err != nil {
		return fmt.Errorf("folder %q: %w", spec.Path, err)
	}
	b.tags.place(f.Self, spec.Place)
	b.tags.mark(f.Self, spec.Tags)
	if len(spec.Permissions) > 0 {
		b.built.Grants = append(b.built.Grants, Grant{f.Self, spec.Permissions})
	}
	return nil
}

// folder returns the folder at path below root, creating missing ones. prefix is the path of root.
func (b *builder) folder(root *simulator.Folder, prefix, path string) (*simulator.Folder, error) {
	f := root
	for name := range strings.SplitSeq(path, "/") {
		if name == "" {
			continue
		}
		name = escape(name)
		prefix += "/" + name
		next, err := b.child(f, name, prefix)
		if err != nil {
			return nil, err
		}
		f = next
	}
	return f, nil
}

// child returns the folder with that escaped name in f, or creates it; vcsim escapes names.
func (b *builder) child(f *simulator.Folder, name, path string) (*simulator.Folder, error) {
	if e := b.sim.Map.FindByName(name, f.ChildEntity); e != nil {
		if child, ok := e.(*simulator.Folder); ok {
			return child, nil
		}
		return nil, fmt.Errorf("%q is a %s", name, e.Reference().Type)
	}
	ctx := b.fresh()
	var body *methods.CreateFolderBody
	ctx.WithLock(f, func() {
		body = f.CreateFolder(ctx, &types.CreateFolder{This: f.Self, Name: unescape(name)}).(*methods.CreateFolderBody)
	})
	if err := vc.Err(body); err != nil {
		return nil, err
	}
	b.built.Objects = append(b.built.Objects, Object{path, body.Res.Returnval})
	return b.sim.Map.Get(body.Res.Returnval).(*simulator.Folder), nil
}

// escape returns a name in vSphere's form, as an element of a path.
func escape(name string) string {
	return strings.NewReplacer("%", "%25", "/", "%2f", `\`, "%5c").Replace(name)
}

// unescape reverts escape.
func unescape(name string) string {
	return strings.NewReplacer("%25", "%", "%2f", "/", "%5c", `\`).Replace(name)
}

// fileName returns a valid directory name for a datastore.
func fileName(name string) string {
	if strings.Trim(name, ".") == "" {
		return strings.ReplaceAll(name, ".", "%2e")
	}
	return strings.ReplaceAll(name, "/", "%2f")
}

// Version and BuildNumber are the default release of a vCenter.
const (
	Version     = "8.0.3"
	BuildNumber = "24022515"
)

// release describes vCenters and hosts of one vSphere release.
type release struct {
	version  string
	build    string // of vCenter
	esxBuild string // of ESXi
	hardware int    // the newest virtual hardware
}

// releases lists the vSphere releases, newest first, with their general availability builds. An update that is not listed has the
// numbers of the previous one.
func releases() []release {
	return []release{
		{"9.0.0", "24755230", "24755229", 22},
		{"8.0.3", BuildNumber, "24022510", 21},
		{"8.0.2", "22385739", "22380479", 21},
		{"8.0.1", "21560480", "21495797", 20},
		{"8.0.0", "20519528", "20513097", 20},
		{"7.0.3", "18700403", "18644231", 19},
		{"7.0.2", "17694817", "17630552", 19},
		{"7.0.1", "16860138", "16850804", 18},
		{"7.0.0", "15952498", "15843807", 17},
		{"6.7.3", "14367737", "14320388", 15},
		{"6.7.2", "13010631", "13006603", 15},
		{"6.7.0", "8217866", "8169922", 14},
		{"6.5.0", "4602587", "4564106", 13},
	}
}

// newRelease returns the release of a version; "" means [Version]. An unknown version gets the numbers of the newest release.
func newRelease(version string) release {
	version = cmp.Or(version, Version)
	all := releases()
	found := all[0]
	for _, r := range all {
		if minor(r.version) == minor(version) && update(r.version) <= update(version) {
			found = r
			break
		}
	}
	found.version = version
	return found
}

// minor returns the first two numbers of a version.
func minor(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// update returns the third number of a version, or 0.
func update(version string) int {
	_, rest, _ := strings.Cut(strings.TrimPrefix(version, minor(version)), ".")
	n, err := strconv.Atoi(rest)
	if err != nil {
		return 0
	}
	return n
}

// api returns the version of the vSphere API: four numbers from vSphere 7 on.
func (r release) api() string {
	if strings.HasPrefix(r.version, "6.") {
		return strings.TrimSuffix(r.version, ".0")
	}
	return r.version + ".0"
}

// About describes a vCenter of a release ("8.0.3"; empty means [Version]), based on vcsim's. It is for the service content of a
// new vCenter; name is part of the full name, with the word "simulated".
func About(vcsim types.AboutInfo, version, name string) types.AboutInfo {
	r := newRelease(version)
	about := vcsim
	about.Version = r.version
	about.ApiVersion = r.api()
	about.Build = r.build
	about.LicenseProductVersion = minor(r.version)
	about.FullName = fmt.Sprintf("%s %s build-%s (simulated, %s)", about.Name, r.version, r.build, name)
	return about
}

// product describes a host of the release, based on vcsim's.
func (r release) product(vcsim types.AboutInfo) types.AboutInfo {
	p := vcsim
	p.Version = r.version
	p.ApiVersion = r.api()
	p.Build = r.esxBuild
	p.LicenseProductVersion = minor(r.version)
	p.FullName = fmt.Sprintf("%s %s build-%s", p.Name, r.version, r.esxBuild)
	return p
}

// hardwareVersion returns the newest virtual hardware of the release.
func (r release) hardwareVersion() string { return hardwareName(r.hardware) }

func hardwareName(n int) string { return "vmx-" + strconv.Itoa(n) }
