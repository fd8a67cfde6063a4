package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"k8s.io/csi-translation-lib/plugins"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/doctor"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
)

// objects are what is read of the cluster.
type objects struct {
	version     string
	nodes       []corev1.Node
	csiNodes    map[string]storagev1.CSINode
	driver      bool // the CSIDriver is there
	volumes     []corev1.PersistentVolume
	classes     []storagev1.StorageClass
	attachments []storagev1.VolumeAttachment
	pods        []corev1.Pod
	ccm         string // who holds the lease of cloud controller managers
	// unread are the kinds that could not be read, each with the reason.
	unread []string
}

// page is how many objects an answer may hold.
const page = 500

// leaseOfCCM is that of every cloud controller manager, in kube-system.
const leaseOfCCM = "cloud-controller-manager"

// read reads the cluster. Without its nodes nothing can be said; every other kind that cannot be read is noted.
func read(ctx context.Context, c kubernetes.Interface, step func(string)) (*objects, error) {
	o := &objects{csiNodes: map[string]storagev1.CSINode{}}
	step("nodes")
	err := pages(func(opts metav1.ListOptions) (string, error) {
		list, err := c.CoreV1().Nodes().List(ctx, opts)
		if err != nil {
			return "", err
		}
		o.nodes = append(o.nodes, list.Items...)
		return list.Continue, nil
	})
	if err != nil {
		return nil, err
	}
	if v, err := c.Discovery().ServerVersion(); err == nil {
		o.version = v.GitVersion
	} else {
		o.note("version", err)
	}
	step("volumes and classes")
	o.note("csinodes", pages(func(opts metav1.ListOptions) (string, error) {
		list, err := c.StorageV1().CSINodes().List(ctx, opts)
		if err != nil {
			return "", err
		}
		for _, n := range list.Items {
			o.csiNodes[n.Name] = n
		}
		return list.Continue, nil
	}))
	o.note("persistentvolumes", pages(func(opts metav1.ListOptions) (string, error) {
		list, err := c.CoreV1().PersistentVolumes().List(ctx, opts)
		if err != nil {
			return "", err
		}
		o.volumes = append(o.volumes, list.Items...)
		return list.Continue, nil
	}))
	o.note("storageclasses", pages(func(opts metav1.ListOptions) (string, error) {
		list, err := c.StorageV1().StorageClasses().List(ctx, opts)
		if err != nil {
			return "", err
		}
		o.classes = append(o.classes, list.Items...)
		return list.Continue, nil
	}))
	o.note("volumeattachments", pages(func(opts metav1.ListOptions) (string, error) {
		list, err := c.StorageV1().VolumeAttachments().List(ctx, opts)
		if err != nil {
			return "", err
		}
		o.attachments = append(o.attachments, list.Items...)
		return list.Continue, nil
	}))
	_, err = c.StorageV1().CSIDrivers().Get(ctx, names.Driver, metav1.GetOptions{})
	if o.driver = err == nil; !apierrors.IsNotFound(err) {
		o.note("csidrivers", err)
	}
	step("pods")
	o.note("pods", pages(func(opts metav1.ListOptions) (string, error) {
		list, err := c.CoreV1().Pods(metav1.NamespaceAll).List(ctx, opts)
		if err != nil {
			return "", err
		}
		o.pods = append(o.pods, list.Items...)
		return list.Continue, nil
	}))
	lease, err := c.CoordinationV1().Leases(metav1.NamespaceSystem).Get(ctx, leaseOfCCM, metav1.GetOptions{})
	if err == nil && lease.Spec.HolderIdentity != nil {
		o.ccm = *lease.Spec.HolderIdentity
	} else if !apierrors.IsNotFound(err) {
		o.note("leases", err)
	}
	return o, ctx.Err()
}

// pages requests one page after the other, until the last.
func pages(ask func(metav1.ListOptions) (more string, err error)) error {
	next := ""
	for {
		more, err := ask(metav1.ListOptions{Limit: page, Continue: next})
		if err != nil || more == "" {
			return err
		}
		next = more
	}
}

func (o *objects) note(kind string, err error) {
	if err != nil {
		o.unread = append(o.unread, fmt.Sprintf("%s: %v", kind, err))
	}
}

func uninitialized(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == cloudproviderapi.TaintExternalCloudProvider })
}

// readNodes takes the nodes into the report, control plane first: the order in which they are migrated.
func (c *run) readNodes() {
	for i := range c.objects.nodes {
		n := &c.objects.nodes[i]
		_, master := n.Labels["node-role.kubernetes.io/control-plane"]
		_, old := n.Labels["node-role.kubernetes.io/master"]
		one := Node{
			Name: n.Name, ControlPlane: master || old, Kubelet: n.Status.NodeInfo.KubeletVersion, SystemUUID: n.Status.NodeInfo.SystemUUID,
			ProviderID: n.Spec.ProviderID, Uninitialized: uninitialized(n),
			Zone: n.Labels[corev1.LabelTopologyZone], Region: n.Labels[corev1.LabelTopologyRegion],
			OldZone: n.Labels[corev1.LabelFailureDomainBetaZone], OldRegion: n.Labels[corev1.LabelFailureDomainBetaRegion],
		}
		if csi, ok := c.objects.csiNodes[n.Name]; ok {
			for _, d := range csi.Spec.Drivers {
				one.Driver = one.Driver || d.Name == names.Driver
			}
			one.Migrated = slices.Contains(strings.Split(csi.Annotations["storage.alpha.kubernetes.io/migrated-plugins"], ","), plugins.VSphereInTreePluginName)
		}
		c.report.Nodes = append(c.report.Nodes, one)
	}
	slices.SortFunc(c.report.Nodes, func(a, b Node) int {
		if a.ControlPlane != b.ControlPlane {
			if a.ControlPlane {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
}

// bind finds the VM of every node, in all that was read.
func (c *run) bind(cluster *doctor.Cluster, found []doctor.Finding) {
	var vms []inventory.VM
	for _, s := range c.vcenters {
		vms = append(vms, s.vms...)
	}
	without := map[string]bool{}
	for _, f := range found {
		if f.ID == "disk-uuid" {
			for _, path := range f.Objects {
				without[f.VCenter+path] = true
			}
		}
	}
	for _, n := range cluster.Nodes {
		i := slices.IndexFunc(c.report.Nodes, func(r Node) bool { return r.Name == n.Name })
		a := doctor.Match(n, vms, nil)
		if a.Reason != match.Found {
			continue
		}
		vm, swapped, by := a.VM, a.Swapped, string(a.By)
		switch u, err := match.ParseUUID(n.SystemUUID); {
		case err == nil && u.Equal(vm.Facts().UUID):
			by, swapped = "uuid", u != vm.Facts().UUID
		case a.By == match.ByProviderID:
			by = "provider ID"
		}
		if swapped {
			by += ", other byte order"
		}
		c.report.Nodes[i].VM = &VM{
			VCenter: vm.VCenter, Path: vm.Path, UUID: vm.UUID, Match: by, Power: vm.Power, Hostname: vm.Hostname,
			HardwareVersion: vm.HardwareVersion, DiskUUID: !without[vm.VCenter+vm.Path], Region: vm.Region, Zone: vm.Zone,
		}
	}
}

// seen is what a vCenter has shown.
type seen struct {
	name string
	api  string // version of its API
	vms  []inventory.VM
	tree inventory.Tree
	// datastores are those that a volume or a class names.
	datastores []datastore
}

// datastore is one of those.
type datastore struct {
	ref       types.ManagedObjectReference
	name, url string
	// datacenter is its inventory path.
	datacenter string
	browser    types.ManagedObjectReference
}

// inspect takes what doctor has read, and asks what it did not.
func (c *run) inspect(ctx context.Context, conn *vcenter.Connection, inv *inventory.Inventory) {
	s := &seen{name: conn.VCenter.Name, vms: slices.Clone(inv.VMs), tree: inv.Tree}
	c.vcenters = append(c.vcenters, s)
	_ = conn.Do(ctx, func(_ context.Context, vim *vim25.Client) error { // it has just been let in: there is an answer
		s.api = vim.ServiceContent.About.ApiVersion
		return nil
	})
	wanted := c.wantedDatastores()
	var refs []types.ManagedObjectReference
	for ref, o := range inv.Tree {
		if ref.Type == "Datastore" && wanted[o.Name] {
			refs = append(refs, ref)
		}
	}
	if len(refs) > 0 {
		c.in.OnStep("vcenter " + s.name + ": disks of volumes")
		if err := s.readDatastores(ctx, conn, refs); err != nil {
			c.unsearched(s, refs, err)
		}
		c.findDisks(ctx, conn, s)
	}
	one := VCenter{Name: s.name, Server: conn.VCenter.Address(), Datastores: map[string]string{}}
	for _, d := range s.datastores {
		one.Datastores[d.name] = d.url
	}
	c.report.VCenters = append(c.report.VCenters, one)
}

// readDatastores reads where datastores are, and who can search them.
func (s *seen) readDatastores(ctx context.Context, conn *vcenter.Connection, refs []types.ManagedObjectReference) error {
	filter := types.PropertyFilterSpec{
		PropSet:                       []types.PropertySpec{{Type: "Datastore", PathSet: []string{"name", "summary.url", "browser"}}},
		ReportMissingObjectsInResults: new(true), // one may vanish between the calls
	}
	for _, ref := range refs {
		filter.ObjectSet = append(filter.ObjectSet, types.ObjectSpec{Obj: ref})
	}
	content, err := inventory.Retrieve(ctx, conn, filter)
	if err != nil {
		return err
	}
	var all []mo.Datastore
	if err := mo.LoadObjectContent(content, &all); err != nil {
		return err
	}
	for _, d := range all {
		one := datastore{ref: d.Self, name: d.Name, url: d.Summary.Url, browser: d.Browser}
		if dc := s.tree.Above(d.Self, "Datacenter"); dc != nil {
			one.datacenter = s.tree.Path(dc.Ref)
		}
		s.datastores = append(s.datastores, one)
	}
	slices.SortFunc(s.datastores, func(a, b datastore) int {
		return slices.Compare([]string{a.name, a.datacenter}, []string{b.name, b.datacenter})
	})
	return nil
}

// wantedDatastores are those that volumes and classes name.
func (c *run) wantedDatastores() map[string]bool {
	wanted := map[string]bool{}
	for _, v := range c.report.Volumes {
		wanted[v.Datastore] = true
	}
	for _, k := range c.report.Classes {
		wanted[k.datastore()] = true
	}
	for _, name := range c.in.Datastores {
		wanted[name] = true
	}
	delete(wanted, "")
	return wanted
}
