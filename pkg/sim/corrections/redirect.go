package corrections

import (
	"log/slog"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/redirect"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/stock"
)

// Options configures [Install]. The zero value corrects everything and hides nothing.
type Options struct {
	// Stock names the behaviors that vcsim keeps.
	Stock stock.Set
	// Visible reports whether the session of a call may see an object; searches skip the others. Default: all.
	Visible func(ctx *simulator.Context, ref vc.Ref) bool
	// Destroying is called with a VM that is about to be destroyed, which is locked, before its first-class disks are detached.
	// Optional.
	Destroying func(vm vc.Ref)
	// Logger gets panics of tasks. Default: none.
	Logger *slog.Logger
}

// Corrections answers the corrected calls of one vCenter. Create one with [Install].
type Corrections struct {
	redirect.Receiver

	opts       Options
	index      *index
	names      *names
	labels     *labels
	retention  *retention
	traffic    *traffic
	notes      *taskNotes
	collectors collectors
}

// corrected maps types of objects to the methods that [Corrections] implements, without those that stay as in vcsim.
func corrected(s stock.Set) map[string][]string {
	m := map[string][]string{}
	add := func(b stock.Behavior, kind string, names ...string) {
		if !s.Has(b) {
			m[kind] = append(m[kind], names...)
		}
	}
	if !(s.Has(stock.SearchScope) && s.Has(stock.SearchCase) && s.Has(stock.SearchAddresses)) {
		m["SearchIndex"] = []string{
			"FindByUuid", "FindAllByUuid", "FindByDnsName", "FindAllByDnsName", "FindByIp", "FindAllByIp",
		}
	}
	m["SearchIndex"] = append(m["SearchIndex"], "FindChild")
	add(stock.Relocate, "VirtualMachine", "RelocateVM_Task", "MigrateVM_Task", "MarkAsTemplate", "MarkAsVirtualMachine")
	add(stock.Power, "VirtualMachine", "ResetVM_Task", "RebootGuest")
	add(stock.Destroy, "VirtualMachine", "Destroy_Task")
	for _, kind := range []string{
		"Folder", "Datacenter", "ClusterComputeResource", "ComputeResource", "HostSystem", "ResourcePool", "VirtualApp",
		"Datastore", "Network", "DistributedVirtualPortgroup", "DistributedVirtualSwitch", "VmwareDistributedVirtualSwitch",
	} {
		add(stock.Dangling, kind, "Destroy_Task")
	}
	for _, kind := range []string{"Network", "DistributedVirtualPortgroup"} {
		add(stock.Dangling, kind, "DestroyNetwork")
	}
	for _, kind := range []string{"VirtualMachine", "Datacenter", "ClusterComputeResource", "Folder"} {
		add(stock.Rename, kind, "Rename_Task")
	}
	for _, kind := range []string{"ResourcePool", "VirtualApp"} {
		m[kind] = append(m[kind], "CreateResourcePool")
	}
	add(stock.Tasks, "Task", "CancelTask")
	add(stock.Tasks, "FileManager", "CopyDatastoreFile_Task", "MoveDatastoreFile_Task", "DeleteDatastoreFile_Task")
	m["Datastore"] = append(m["Datastore"], "RefreshDatastore")
	return m
}

// Install puts the corrections into the vCenter of base, which must not serve yet. Every call to the vCenter must pass
// [Corrections.Check] and then [Corrections.Redirect]. Call Close to end it.
func Install(base *simulator.Context, opts Options) *Corrections {
	c := &Corrections{
		Receiver: redirect.Receiver{
			Self:    vc.Ref{Type: "SandboxCorrections", Value: "sandbox-corrections"},
			Methods: corrected(opts.Stock),
		},
		opts:    opts,
		index:   newIndex(opts.Stock),
		traffic: newTraffic(),
		labels:  newLabels(base),
	}
	base.Map.Put(c)
	base.Map.AddHandler(newPanics(opts.Logger)) // stays: tasks may continue after Close
	base.Map.AddHandler(c.traffic)
	base.Map.AddHandler(c.labels)
	base.Map.AddHandler(c.index)
	base.Map.AddHandler(newRuntimes(base))
	base.Map.AddHandler(newClones(base))
	c.index.fill(base)
	if !opts.Stock.Has(stock.Rename) {
		c.names = newNames(base)
		base.Map.AddHandler(c.names)
	}
	if !opts.Stock.Has(stock.Tasks) {
		c.retention, c.notes = newRetention(base), newTaskNotes(c.Name)
		base.Map.AddHandler(c.retention)
		base.Map.AddHandler(c.notes)
	}
	if !opts.Stock.Has(stock.Events) {
		describeEvents(base)
	}
	return c
}

// Close stops following the vCenter and waits for running work.
func (c *Corrections) Close(base *simulator.Context) {
	base.Map.RemoveHandler(c.index)
	base.Map.RemoveHandler(c.traffic)
	base.Map.RemoveHandler(c.labels)
	if c.names != nil {
		base.Map.RemoveHandler(c.names)
	}
	if c.retention != nil {
		base.Map.RemoveHandler(c.retention)
		base.Map.RemoveHandler(c.notes)
		c.retention.close()
	}
}

// Check refuses a call whose arguments refer to missing objects, as vCenter does first; vcsim would panic, sometimes in
// goroutines, which ends the process.
func (c *Corrections) Check(ctx *simulator.Context, method *simulator.Method) types.BaseMethodFault {
	if ctx.Session == nil {
		return nil
	}
	c.collectors.note(ctx, method)
	anchorEvent(ctx, method)
	noteCall(ctx, method)
	if c.opts.Stock.Has(stock.Dangling) {
		return nil
	}
	if strings.HasSuffix(method.Name, "_Task") {
		c.traffic.enter()
	}
	if fault := checkArguments(ctx, method); fault != nil {
		return fault
	}
	return c.checkTaken(ctx, method)
}
