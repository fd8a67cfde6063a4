package store

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/rest"
)

// check validates the relations between objects that vcsim assumes.
func (l *Loaded) check(f *folder) {
	if root, ok := l.entity(l.content.RootFolder); ok {
		l.rootName = root.Name
	}
	for _, o := range l.order {
		c := checker{l, f, o}
		if e, ok := o.obj.(mo.Entity); ok && isEntity(o.ref.Type) && o.ref != l.content.RootFolder {
			c.place(e.Entity())
		}
		c.needs()
	}
}

// checker checks one object.
type checker struct {
	l *Loaded
	f *folder
	o *item
}

func (c checker) problem(at vc.Ref, try, format string, args ...any) {
	c.f.add(Problem{
		File: c.o.file, Line: max(lineOf(c.o.data, ">"+at.Value+"<"), 1), Try: try,
		What: fmt.Sprintf("%s %s: ", c.o.ref.Type, c.o.ref.Value) + fmt.Sprintf(format, args...),
	})
}

// containers returns the types that may contain objects of a type.
func containers(kind string) []string {
	switch kind {
	case "Folder":
		return []string{"Folder", "Datacenter", "StoragePod"}
	case "Datastore":
		return []string{"Folder", "StoragePod"}
	case "HostSystem":
		return []string{"ComputeResource", "ClusterComputeResource"}
	case "ResourcePool", "VirtualApp":
		return []string{"ComputeResource", "ClusterComputeResource", "ResourcePool", "VirtualApp"}
	case "VirtualMachine":
		return []string{"Folder", "VirtualApp"}
	}
	return []string{"Folder"}
}

// place checks the path to the root folder.
func (c checker) place(e *mo.ManagedEntity) {
	if e.Parent == nil {
		if vm, ok := c.o.obj.(*simulator.VirtualMachine); ok && vm.ParentVApp != nil {
			c.require("parent", vm.ParentVApp, "VirtualApp")
			return
		}
		c.problem(c.o.ref, tryAgain, "has no parent")
		return
	}
	if !c.require("parent", e.Parent, containers(c.o.ref.Type)...) {
		return
	}
	seen := map[vc.Ref]bool{c.o.ref: true}
	for at := *e.Parent; at != c.l.content.RootFolder; {
		if seen[at] {
			c.problem(*e.Parent, tryAgain, "parent %s is below it", e.Parent.Value)
			return
		}
		seen[at] = true
		up, ok := c.l.entity(at)
		if !ok || up.Parent == nil {
			return // reported for that object
		}
		at = *up.Parent
	}
}

func (l *Loaded) entity(ref vc.Ref) (*mo.ManagedEntity, bool) {
	o := l.objects[ref]
	if o == nil {
		return nil, false
	}
	e, ok := o.obj.(mo.Entity)
	if !ok {
		return nil, false
	}
	return e.Entity(), true
}

// require checks a mandatory reference to an object of one of the types.
func (c checker) require(name string, ref *vc.Ref, kinds ...string) bool {
	switch {
	case ref == nil || ref.Value == "":
		c.problem(c.o.ref, tryAgain, "has no %s", name)
	case !slices.Contains(kinds, ref.Type):
		c.problem(*ref, tryAgain, "%s is a %s, %s", name, ref.Type, ref.Value)
	case c.l.objects[*ref] == nil:
		c.problem(*ref, tryAgain+"\n"+tryDelete, "%s %s %s is not in the folder", name, ref.Type, ref.Value)
	default:
		return true
	}
	return false
}

// needs checks what objects of a type must have.
func (c checker) needs() {
	compute := []string{"ComputeResource", "ClusterComputeResource"}
	switch obj := c.o.obj.(type) {
	case *simulator.Datacenter:
		for name, ref := range map[string]*vc.Ref{
			"vmFolder": &obj.VmFolder, "hostFolder": &obj.HostFolder,
			"datastoreFolder": &obj.DatastoreFolder, "networkFolder": &obj.NetworkFolder,
		} {
			c.require(name, ref, "Folder", "StoragePod")
		}
	case *simulator.ClusterComputeResource:
		c.require("resourcePool", obj.ResourcePool, "ResourcePool")
	case *mo.ComputeResource:
		c.require("resourcePool", obj.ResourcePool, "ResourcePool")
	case *simulator.ResourcePool:
		c.require("owner", &obj.Owner, compute...)
	case *simulator.VirtualApp:
		c.require("owner", &obj.Owner, compute...)
	case *simulator.DistributedVirtualPortgroup:
		c.require("config.distributedVirtualSwitch", obj.Config.DistributedVirtualSwitch,
			"VmwareDistributedVirtualSwitch", "DistributedVirtualSwitch")
	case *simulator.Datastore:
		if obj.Info == nil {
			c.problem(c.o.ref, tryDelete, "has no info")
		}
	case *simulator.VirtualMachine:
		c.checkVM(obj)
	}
}

func (c checker) checkVM(vm *simulator.VirtualMachine) {
	c.require("runtime.host", vm.Runtime.Host, "HostSystem")
	if vm.Config == nil {
		vm.Config = unknownConfig(&vm.VirtualMachine)
		c.l.note("VM %s was inaccessible: its configuration was not saved", vm.Name)
	}
	if !vm.Config.Template {
		c.require("resourcePool", vm.ResourcePool, "ResourcePool", "VirtualApp")
	}
	for i, d := range vm.Config.Hardware.Device {
		if d == nil {
			c.problem(c.o.ref, tryAgain, "device %d has no type", i)
			return
		}
	}
	if _, err := home(&vm.VirtualMachine); err != nil {
		c.problem(c.o.ref, tryAgain, "%v", err)
	}
	if n := firstClass(&vm.VirtualMachine); n > 0 {
		c.l.note("VM %s has disks of volumes (%d): CNS does not know these, volumes are not saved", vm.Name, n)
	}
	for _, d := range disks(&vm.VirtualMachine) {
		if _, err := localPath(d.file); err != nil {
			c.problem(c.o.ref, tryAgain, "disk %d: %v", d.key, err)
		}
	}
}

// unknownConfig returns the configuration of a VM of which only the summary is known.
func unknownConfig(vm *mo.VirtualMachine) *types.VirtualMachineConfigInfo {
	s := vm.Summary.Config
	return &types.VirtualMachineConfigInfo{
		Name: vm.Name, Uuid: s.Uuid, InstanceUuid: s.InstanceUuid, GuestId: s.GuestId, GuestFullName: s.GuestFullName,
		Annotation: s.Annotation, Template: s.Template, Version: "vmx-13",
		Files:    types.VirtualMachineFileInfo{VmPathName: s.VmPathName},
		Hardware: types.VirtualHardware{NumCPU: s.NumCpu, MemoryMB: s.MemorySizeMB},
		Tools:    new(types.ToolsConfigInfo),
	}
}

// checkTags checks that tags have categories, and are attached to saved objects: the tags of an object that was removed during
// the save are dropped.
func (l *Loaded) checkTags(f *folder) {
	problem := func(what string, args ...any) {
		f.add(Problem{File: tagsName, What: fmt.Sprintf(what, args...), Try: tryAgain})
	}
	categories := make(map[string]bool)
	for _, c := range l.tags.Categories {
		if categories[c.ID] {
			problem("category %s is in it twice", c.ID)
		}
		categories[c.ID] = true
	}
	tags := make(map[string]bool)
	for _, t := range l.tags.Tags {
		if !categories[t.CategoryID] {
			problem("tag %q is of category %s, which is not in it", t.Name, t.CategoryID)
		}
		if tags[t.ID] {
			problem("tag %s is in it twice", t.ID)
		}
		tags[t.ID] = true
	}
	l.tags.Associations = slices.DeleteFunc(l.tags.Associations, func(a rest.Association) bool {
		if !tags[a.TagID] {
			problem("tag %s is attached to %s %s, and is not in it", a.TagID, a.Object.Type, a.Object.Value)
			return true
		}
		if l.objects[a.Object] == nil {
			l.note("tag %s is attached to %s %s, which is not in the folder", a.TagID, a.Object.Type, a.Object.Value)
			return true
		}
		return false
	})
}

// Problem is one problem of a folder.
type Problem struct {
	// File is the path inside the folder; empty means the folder itself.
	File string
	// Line is the line in the file; 0 if unknown.
	Line int
	// What describes the problem: lower case, without a full stop.
	What string
	// Try suggests a solution.
	Try string
}

// Where returns "file:line".
func (p Problem) Where() string {
	if p.Line == 0 {
		return p.File
	}
	return p.File + ":" + strconv.Itoa(p.Line)
}

// Error holds all problems of a folder, in the order of its files.
type Error struct {
	Dir      string
	Problems []Problem
}

// shown limits the printed problems: half of a missing folder is enough to know.
const shown = 10

// Error returns the problems, one on a line.
func (e *Error) Error() string {
	lines := make([]string, 0, shown+1)
	for i, p := range e.Problems {
		if i == shown {
			lines = append(lines, fmt.Sprintf("%s: and %d more", e.Dir, len(e.Problems)-shown))
			break
		}
		where := e.Dir
		if p.File != "" {
			where += "/" + p.Where()
		}
		lines = append(lines, where+": "+p.What)
	}
	return strings.Join(lines, "\n")
}

// Try returns the suggestions, each once.
func (e *Error) Try() string {
	var all []string
	seen := map[string]bool{"": true}
	for _, p := range e.Problems {
		if !seen[p.Try] && len(all) < 3 {
			seen[p.Try] = true
			all = append(all, p.Try)
		}
	}
	return strings.Join(all, "\n")
}

// Advice.
const (
	tryAgain  = "save the vCenter again: vsphere-sandbox vcenter save VCENTER DIR, or govc object.save -d DIR"
	tryWhole  = "save the whole vCenter: govc object.save -d DIR, without a path"
	tryNewer  = "load it with the release of vsphere-sandbox that saved it, or a newer one"
	tryEdited = "if the file was edited on purpose, remove its line from " + manifestName
	tryCopy   = "copy the folder again, with everything in it (cp -rL makes files of links)"
	tryDelete = "delete the file to load the folder without the object"
)
