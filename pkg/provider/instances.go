package provider

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/address"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match/kubenode"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/metrics"
)

// vmIndex is the part of [inventory.Inventory] that instances uses.
type vmIndex interface {
	ByUUID(match.UUID) inventory.Result
	ByHostName(name string) inventory.Result
	ByIP(netip.Addr) inventory.Result
	Datacenter(*inventory.VM) string
	Zone(*inventory.VM) (inventory.Zone, error)
	ConfirmAbsent(context.Context, match.UUID) error
	Hidden(match.Node, match.Behavior) error
	Locate(*inventory.VM) (inventory.Location, error)
	ConfirmRemoved(context.Context, inventory.Location, match.UUID) error
}

// instances answers queries about nodes, each from one generation throughout. It writes no Events: [Provider]'s methods
// do.
type instances struct {
	inv     vmIndex
	cfg     *config.Config
	labels  map[string]string
	choices choices
	metrics *metrics.Metrics // nil for none
}

func (g *generation) instances() instances {
	return instances{inv: g.inv, cfg: g.cfg, labels: g.opts.NodeLabels, choices: choicesOf(g.opts.Parity), metrics: g.metrics}
}

var _ cloudprovider.InstancesV2 = (*Provider)(nil)

// InstanceMetadata implements [cloudprovider.InstancesV2]. It answers from the index, without a call to a vCenter.
// Anything still unknown is an error, and the caller retries. For a node that is not initialized it first writes the
// annotation [VMAnnotation]. An initialized node keeps the region and zone of its labels while tags are missing, so that
// its addresses can be updated.
func (p *Provider) InstanceMetadata(ctx context.Context, node *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	m, err := p.now().instances().metadata(node)
	p.nodes.events.metadata(node, m, err)
	if m == nil {
		p.enqueueAnnotation(node)
		return nil, err
	}
	if err := p.annotateFirst(ctx, node, m); err != nil {
		return nil, err
	}
	p.enqueueAnnotation(node)
	return m, nil
}

// InstanceShutdown implements [cloudprovider.InstancesV2]. It uses the power state alone, because the guest of a VM that is
// off reports nothing. Suspended counts as shut down.
func (p *Provider) InstanceShutdown(_ context.Context, node *corev1.Node) (bool, error) {
	off, err := p.now().instances().shutdown(node)
	p.nodes.events.shutdown(node, err)
	return off, err
}

// metadata returns both metadata and an error if the error is worth reporting but does not prevent the answer.
func (i instances) metadata(node *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	vm, err := i.find(node)
	if err != nil {
		return nil, err
	}
	if vm.UUID == (match.UUID{}) {
		return nil, fmt.Errorf("node %q: vm %s: its uuid is not known yet", node.Name, vm)
	}
	addresses, warning, err := i.selected(vm, node)
	zone, zoneErr := i.zone(vm)
	if err != nil || zoneErr != nil && (!initialized(node) || i.choices.zoneHoldsAddresses) {
		return nil, fmt.Errorf("node %q: %w", node.Name, joinErrors(err, zoneErr))
	}
	if other, ok, _ := i.elsewhere(node, vm.UUID); ok {
		warning = joinErrors(&match.StaleError{ProviderID: node.Spec.ProviderID, RunsOn: other.String()}, warning)
	}
	if zoneErr != nil {
		zone = inventory.Zone{Region: node.Labels[corev1.LabelTopologyRegion], Zone: node.Labels[corev1.LabelTopologyZone]}
	}
	return &cloudprovider.InstanceMetadata{
		ProviderID:       match.ProviderID(vm.UUID),
		InstanceType:     instanceType(vm),
		NodeAddresses:    addresses,
		Zone:             zone.Zone,
		Region:           zone.Region,
		AdditionalLabels: maps.Clone(i.labels),
	}, wrap(joinErrors(zoneErr, warning), fmt.Sprintf("node %q", node.Name))
}

// find returns the VM of a node from the index. An error that wraps [match.ErrNotFound] means only that the index has none.
func (i instances) find(node *corev1.Node) (*inventory.VM, error) {
	i.inv = counting(i.inv, i.metrics, node)
	vm, err := i.match(node)
	if err != nil {
		return nil, fmt.Errorf("node %q: %w", node.Name, i.hidden(node, err))
	}
	return vm, nil
}

// hidden adds to an error that the index has no VM for the node why the configuration may hide it.
func (i instances) hidden(node *corev1.Node, err error) error {
	if !errors.Is(err, match.ErrNotFound) || unavailable(err) {
		return err
	}
	if why := i.inv.Hidden(kubenode.Facts(node), i.choices.Behavior); why != nil {
		return joinErrors(err, why)
	}
	return err
}

func (i instances) match(node *corev1.Node) (*inventory.VM, error) {
	if node.Spec.ProviderID == "" && i.choices.nameDecides {
		return i.byExactName(node)
	}
	a := match.Find(kubenode.Facts(node), i.inv, i.choices.Behavior)
	return a.VM, a.Err
}

func (i instances) elsewhere(node *corev1.Node, bound match.UUID) (other *inventory.VM, ok bool, doubt error) {
	return match.FindDifferent(kubenode.Facts(node), bound, i.inv, i.choices.Behavior)
}

// initialized reports whether the node has lost the taint that it registers with.
func initialized(node *corev1.Node) bool {
	return !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == cloudproviderapi.TaintExternalCloudProvider
	})
}

// joinErrors is [errors.Join] on one line, for logs and Events.
func joinErrors(a, b error) error {
	if a == nil || b == nil {
		return errors.Join(a, b)
	}
	return fmt.Errorf("%w; %w", a, b)
}

func wrap(err error, subject string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", subject, err)
}

// instanceType describes a VM's size and guest as upstream does, with memory in whole GB rounded down:
// "vsphere-vm.cpu-4.mem-8gb.os-ubuntu".
func instanceType(vm *inventory.VM) string {
	return fmt.Sprintf("vsphere-vm.cpu-%d.mem-%dgb.os-%s", vm.NumCPU, vm.MemoryMB/1024, guestOS(vm.GuestID))
}

// guestOS returns upstream's short name of a guest identifier (VirtualMachineGuestOsIdentifier), as in
// pkg/cloudprovider/vsphere/types.go, GuestOSLookup, which has rhel8, rhel9 and rhel10 since v1.36. An identifier that
// upstream does not know is "unknown" here too, because the name becomes part of a label that selects nodes.
func guestOS(id string) string {
	family := guestFamily(id)
	switch family {
	case "":
		return unknownGuest
	case "centos", "sles":
		// Upstream keeps the word width of these two.
		if strings.HasSuffix(id, "64Guest") {
			return family + "64"
		}
		return family
	case "genericLinux", "otherLinux", "other24xLinux", "other26xLinux", "other3xLinux":
		return "linux"
	case "darwin", "darwin10", "darwin11", "darwin12", "darwin13", "darwin14", "darwin15", "darwin16":
		return "darwin"
	case "redhat":
		return "rhel"
	case "vmwarePhoton":
		return "photon"
	case "windows7", "windows7Server", "windows8", "windows8Server":
		return strings.ToLower(strings.Replace(family, "windows", "win", 1))
	case "windows9", "windows9Server":
		return strings.ToLower(strings.Replace(family, "windows9", "win10", 1))
	case "turboLinux", "unixWare7", "win2000AdvServ", "win2000Pro", "win2000Serv", "winLonghorn", "winMe", "winNT",
		"winNetBusiness", "winNetDatacenter", "winNetEnterprise", "winNetStandard", "winNetWeb", "winVista", "winXPHome",
		"winXPPro", "windowsHyperV":
		return strings.ToLower(family)
	case "asianux3", "asianux4", "asianux5", "asianux7", "centos6", "centos7", "coreos", "debian4", "debian5", "debian6",
		"debian7", "debian8", "debian9", "debian10", "dos", "eComStation", "eComStation2", "fedora", "freebsd", "mandrake",
		"mandriva", "netware4", "netware5", "netware6", "nld9", "oes", "openServer5", "openServer6", "opensuse",
		"oracleLinux", "oracleLinux6", "oracleLinux7", "os2", "other", "rhel2", "rhel3", "rhel4", "rhel5", "rhel6", "rhel7",
		"rhel8", "rhel9", "rhel10", "sjds", "sles10", "sles11", "sles12", "solaris6", "solaris7", "solaris8", "solaris9",
		"solaris10", "solaris11", "suse", "ubuntu", "vmkernel", "vmkernel5", "vmkernel6", "vmkernel65", "win31", "win95", "win98":
		return family
	}
	return unknownGuest
}

const unknownGuest = "unknown"

// guestFamily returns an identifier without the common suffix and the word width: "rhel8" for "rhel8_64Guest", "ubuntu"
// for "ubuntu64Guest", "other" for "otherGuest64". It returns "" if id is not an identifier.
func guestFamily(id string) string {
	family, ok := strings.CutSuffix(strings.TrimSuffix(id, "64"), "Guest")
	if !ok {
		return ""
	}
	return strings.TrimSuffix(strings.TrimSuffix(family, "64"), "_")
}

// checkNodeLabels validates labels for nodes. Upstream checks only the keys: a value that the API server refuses fails at
// every node forever (cmd/vsphere-cloud-controller-manager/main.go).
func checkNodeLabels(labels map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if problems := validation.IsQualifiedName(key); len(problems) > 0 {
			return fmt.Errorf("node label %q: key is not a qualified name: %s", key, strings.Join(problems, "; "))
		}
		if problems := validation.IsValidLabelValue(labels[key]); len(problems) > 0 {
			return fmt.Errorf("node label %q: value %q: %s", key, labels[key], strings.Join(problems, "; "))
		}
	}
	return nil
}

// warnNodeLabels logs labels that no node will get: the node controller of k8s.io/cloud-provider drops those in
// Kubernetes' own domains.
func warnNodeLabels(log *slog.Logger, labels map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		prefix, _, _ := strings.Cut(key, "/")
		for _, domain := range []string{"kubernetes.io", "k8s.io"} {
			if prefix != key && (prefix == domain || strings.HasSuffix(prefix, "."+domain)) {
				log.Warn("node label is dropped", "label", key, "why", "the domain is reserved")
			}
		}
	}
}

// ErrTagName reports that the name of a region or zone tag is not a valid label value.
var ErrTagName = errors.New("cannot be a label")

// zone returns the region and zone of vm. It refuses tag names that are not valid label values: the API server would
// reject the node as a whole, forever, without naming the tag.
func (i instances) zone(vm *inventory.VM) (inventory.Zone, error) {
	z, err := i.inv.Zone(vm)
	if err != nil || i.choices.anyTagName {
		return z, err
	}
	for _, t := range [...]struct{ category, tag string }{{i.cfg.Labels.Region, z.Region}, {i.cfg.Labels.Zone, z.Zone}} {
		if problems := validation.IsValidLabelValue(t.tag); len(problems) > 0 {
			return z, fmt.Errorf("vm %s: tag %q of category %q %w: %s", vm, t.tag, t.category, ErrTagName, strings.Join(problems, "; "))
		}
	}
	return z, nil
}

// countedIndex counts what an index is asked.
type countedIndex struct {
	vmIndex
	metrics *metrics.Metrics
	byUUID  metrics.Source // where the UUIDs come from
}

// counting returns an index that counts questions about the node as m has it.
func counting(index vmIndex, m *metrics.Metrics, node *corev1.Node) vmIndex {
	if m == nil {
		return index
	}
	c := countedIndex{vmIndex: index, metrics: m, byUUID: metrics.BySystemUUID}
	if node.Spec.ProviderID != "" {
		c.byUUID = metrics.ByProviderID
	}
	return c
}

func (c countedIndex) ByUUID(u match.UUID) inventory.Result {
	return c.count(c.byUUID, c.vmIndex.ByUUID(u))
}

func (c countedIndex) ByHostName(name string) inventory.Result {
	return c.count(metrics.ByHostName, c.vmIndex.ByHostName(name))
}

func (c countedIndex) ByIP(ip netip.Addr) inventory.Result {
	return c.count(metrics.ByAddress, c.vmIndex.ByIP(ip))
}

func (c countedIndex) count(source metrics.Source, r inventory.Result) inventory.Result {
	result := metrics.NotFound
	switch {
	case len(r.VMs) == 1:
		result = metrics.Found
	case len(r.VMs) > 1:
		result = metrics.Ambiguous
	case r.Doubt != nil:
		result = metrics.Unsure
	}
	c.metrics.Lookup(source, result)
	return r
}

// ConfirmRemoved implements vmIndex. It counts when it ends the confirmation; else ConfirmAbsent does.
func (c countedIndex) ConfirmRemoved(ctx context.Context, at inventory.Location, u match.UUID) error {
	err := c.vmIndex.ConfirmRemoved(ctx, at, u)
	if err != nil {
		c.metrics.Confirmation(outcomeOf(err))
	}
	return err
}

// ConfirmAbsent implements vmIndex.
func (c countedIndex) ConfirmAbsent(ctx context.Context, u match.UUID) error {
	err := c.vmIndex.ConfirmAbsent(ctx, u)
	c.metrics.Confirmation(outcomeOf(err))
	return err
}

func outcomeOf(err error) metrics.Outcome {
	switch {
	case err == nil:
		return metrics.Gone
	case errors.Is(err, inventory.ErrStillThere):
		return metrics.StillThere
	}
	return metrics.Doubt
}

// addresses returns the addresses that the configuration selects from those that the VM's guest reports.
func (i instances) addresses(vm *inventory.VM, node *corev1.Node) ([]corev1.NodeAddress, error) {
	list, _, err := i.selected(vm, node)
	return list, err
}

// selected is addresses with a warning, which is worth reporting but does not prevent the answer.
func (i instances) selected(vm *inventory.VM, node *corev1.Node) (list []corev1.NodeAddress, warning, err error) {
	n := slices.IndexFunc(i.cfg.VCenters, func(vc config.VCenter) bool { return vc.Tenant == vm.VCenter })
	if n < 0 {
		return nil, nil, fmt.Errorf("vm %s: vcenter is not configured", vm)
	}
	rules := address.Rules{
		Nodes:    i.cfg.Nodes,
		Families: i.cfg.VCenters[n].IPFamilies,
		NodeIPs:  providedNodeIPs(node),
		Upstream: i.choices.addressRulesAlone,
	}
	if initialized(node) && node.Spec.ProviderID != "" {
		rules.Current = currentAddresses(node)
	}
	list, warning, err = addresses(vm, rules, func(ip netip.Addr) string { return others(vm, i.inv.ByIP(ip).VMs) })
	if err != nil || i.choices.guestHostName || node.Name == "" {
		return list, warning, err
	}
	name, problem := i.hostName(vm, node)
	list[0].Address = name
	if problem != nil {
		warning = joinWarnings(wrap(problem, "vm "+vm.String()), warning)
	}
	return list, warning, nil
}

// hostName returns the Hostname address of a node: its name, or the guest's hostname if that is the same name in another case,
// or with or without the domain. A guest may have another name: that of a template, or one that was cut to 15 characters
// (rancher #50089). kube-apiserver may dial a node by it.
func (i instances) hostName(vm *inventory.VM, node *corev1.Node) (name string, p *address.Problem) {
	exactly, shortly := match.SameHostName(vm.HostName, node.Name)
	_, notName := netip.ParseAddr(node.Name)
	label, _, _ := strings.Cut(match.FoldHostName(vm.HostName), ".")
	with, local := others(vm, i.inv.ByHostName(vm.HostName).VMs), label == "localhost"
	// A name that is an address says nothing about the guest's.
	agrees := exactly || shortly || notName == nil && with == "" && !local
	if name = vm.HostName; !agrees {
		name = node.Name
	}
	switch {
	case local:
		p = &address.Problem{Reason: address.HostNameLocal, Message: fmt.Sprintf("the guest reports the hostname %q: give it its own", vm.HostName), Notice: agrees}
	case with != "":
		p = &address.Problem{Reason: address.HostNameShared, Message: fmt.Sprintf("%s reports the hostname %q too: give each guest its own", with, vm.HostName), Notice: agrees}
	}
	if p != nil && !agrees {
		p.Message += "; the node's Hostname address is its name"
	}
	return name, p
}

// others describes the VMs besides vm that are on, "" for none. It omits templates, and other registrations of the same VM.
func others(vm *inventory.VM, found []*inventory.VM) string {
	var names []string
	for _, o := range found {
		if o != vm && (o.VCenter != vm.VCenter || o.Ref != vm.Ref) && !o.Template && !o.UUID.Equal(vm.UUID) && o.Power == types.VirtualMachinePowerStatePoweredOn {
			names = append(names, o.String())
		}
	}
	const most = 3
	slices.Sort(names)
	switch n := len(names); {
	case n == 0:
		return ""
	case n > most:
		return fmt.Sprintf("vm %s and %d more", strings.Join(names[:most], ", "), n-most)
	}
	return "vm " + strings.Join(names, ", ")
}

// currentAddresses returns the addresses that a node has from its provider.
func currentAddresses(node *corev1.Node) (list []address.Address) {
	for _, a := range node.Status.Addresses {
		kind := address.Kind(a.Type)
		if ip, err := netip.ParseAddr(a.Address); err == nil && (kind == address.Internal || kind == address.External) {
			list = append(list, address.Address{Kind: kind, IP: ip.Unmap()})
		}
	}
	return list
}

// joinWarnings is joinErrors with notices last, so that the first one gives the Event its reason and type.
func joinWarnings(a, b error) error {
	if a != nil && b != nil && isNotice(a, reasonOf(a)) && !isNotice(b, reasonOf(b)) {
		a, b = b, a
	}
	return joinErrors(a, b)
}

// isNotice reports whether err, which has this reason, affects nothing: see [address.Problem].
func isNotice(err error, reason string) bool {
	p, ok := errors.AsType[*address.Problem](err)
	return ok && p.Notice && string(p.Reason) == reason
}

// addresses returns a node's addresses: the guest's hostname as reported, and those that rules select. Every error and
// warning about them is an [address.Problem].
// sharedWith may be nil.
func addresses(vm *inventory.VM, rules address.Rules, sharedWith func(netip.Addr) string) (list []corev1.NodeAddress, warning, err error) {
	if vm.HostName == "" {
		// A node must not be initialized before its guest is up: kubernetes/cloud-provider-vsphere#383.
		return nil, nil, addressError(vm, &address.Problem{
			Reason: address.GuestNotReporting, Message: "guest reports no hostname: VMware Tools (open-vm-tools) does not run in it, or has not started yet",
		})
	}
	s, err := address.Select(address.Guest{Adapters: vm.Adapters, Static: vm.Static, StaticErr: vm.StaticErr, SharedWith: sharedWith}, rules)
	if err != nil {
		return nil, nil, addressError(vm, err)
	}
	list = make([]corev1.NodeAddress, 0, 1+len(s.Addresses))
	list = append(list, corev1.NodeAddress{Type: corev1.NodeHostName, Address: vm.HostName})
	for _, a := range s.Addresses {
		list = append(list, corev1.NodeAddress{Type: corev1.NodeAddressType(a.Kind), Address: a.IP.String()})
	}
	for _, w := range s.Warnings {
		// A configuration with internal addresses alone is deliberate.
		if w.Reason != address.NoExternalAddress {
			warning = joinWarnings(warning, w)
		}
	}
	return list, wrap(warning, "vm "+vm.String()), nil
}

// providedNodeIPs returns the addresses of the kubelet's --node-ip flag. It skips invalid ones: the node controller
// refuses those.
func providedNodeIPs(node *corev1.Node) []netip.Addr {
	text, ok := node.Annotations[cloudproviderapi.AnnotationAlphaProvidedIPAddr]
	if !ok {
		return nil
	}
	var ips []netip.Addr
	for s := range strings.SplitSeq(text, ",") {
		if ip, err := netip.ParseAddr(strings.TrimSpace(s)); err == nil {
			ips = append(ips, ip.Unmap())
		}
	}
	return ips
}

// errOff reports that a guest reports nothing because its VM does not run.
var errOff = errors.New("does not run")

// addressError wraps err with the VM. If the VM is off or suspended, it gives that as the reason.
func addressError(vm *inventory.VM, err error) error {
	var p *address.Problem
	if errors.As(err, &p) && p.Reason == address.GuestNotReporting {
		switch vm.Power {
		case types.VirtualMachinePowerStatePoweredOff:
			return fmt.Errorf("vm %s %w: %w", vm, errOff, &address.Problem{Reason: p.Reason, Message: "it is off; power it on"})
		case types.VirtualMachinePowerStateSuspended:
			return fmt.Errorf("vm %s %w: %w", vm, errOff, &address.Problem{Reason: p.Reason, Message: "it is suspended; power it on"})
		}
	}
	return fmt.Errorf("vm %s (%s): %w", vm, vm.Power, err)
}
