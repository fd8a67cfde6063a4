package doors

import (
	"net/http"
	"strings"

	"github.com/vmware/govmomi/vapi/appliance/access/consolecli"
	"github.com/vmware/govmomi/vapi/appliance/access/dcui"
	"github.com/vmware/govmomi/vapi/appliance/access/shell"
	"github.com/vmware/govmomi/vapi/appliance/access/ssh"
	"github.com/vmware/govmomi/vapi/appliance/shutdown"
	"github.com/vmware/govmomi/vapi/cis/tasks"
	"github.com/vmware/govmomi/vapi/cluster"
	"github.com/vmware/govmomi/vapi/crypto"
	"github.com/vmware/govmomi/vapi/esx/settings/clusters"
	"github.com/vmware/govmomi/vapi/esx/settings/depots"
	"github.com/vmware/govmomi/vapi/library"
	"github.com/vmware/govmomi/vapi/namespace"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vapi/vcenter/consumptiondomains/associations"
	"github.com/vmware/govmomi/vapi/vcenter/consumptiondomains/zones"
	"github.com/vmware/govmomi/vapi/vm/dataset"
)

var ofREST = []api{
	{"modules", func(s *side) {
		m := cluster.NewManager(s.rest)
		id, err := m.CreateModule(s.ctx, s.cluster)
		s.must(err)
		_, err = m.AddModuleMembers(s.ctx, id, s.vm)
		s.must(err)
		_, err = m.ListModules(s.ctx)
		s.must(err)
		_, err = m.ListModuleMembers(s.ctx, id)
		s.must(err)
		_, err = m.RemoveModuleMembers(s.ctx, id, s.vm)
		s.must(err)
		s.must(m.DeleteModule(s.ctx, id))
		s.fails(m.DeleteModule(s.ctx, id))
	}, nil},
	{"depots and drafts", func(s *side) {
		d, m := depots.NewManager(s.rest), clusters.NewManager(s.rest)
		task, err := d.CreateOfflineDepot(depots.SettingsDepotsOfflineCreateSpec{SourceType: "PULL", Location: "https://depot.example/depot.zip"})
		s.must(err)
		_, err = tasks.NewManager(s.rest).Get(s.ctx, task)
		s.must(err)
		_, err = d.GetOfflineDepots()
		s.must(err)
		_, err = d.ListBaseImages()
		s.must(err)
		_, err = m.GetSoftwareManagement(s.cluster.Value)
		s.must(err)
		draft, err := m.CreateSoftwareDraft(s.cluster.Value)
		s.must(err)
		_, err = m.GetSoftwareDraft(s.cluster.Value, draft)
		s.must(err)
		s.must(m.UpdateSoftwareDraftComponents(s.cluster.Value, draft, clusters.SoftwareComponentsUpdateSpec{ComponentsToSet: map[string]string{"NVD-AIE-800": "1"}}))
		_, err = m.ListSoftwareDraftComponents(s.cluster.Value, draft)
		s.must(err)
		s.must(m.DeleteSoftwareDraft(s.cluster.Value, draft))
		_, err = m.GetSoftwareDraft(s.cluster.Value, draft)
		s.fails(err)
	}, nil},
	{"key providers", func(s *side) {
		m := crypto.NewManager(s.rest)
		s.must(m.KmsProviderCreate(s.ctx, crypto.KmsProviderCreateSpec{Provider: "native"}))
		s.fails(m.KmsProviderCreate(s.ctx, crypto.KmsProviderCreateSpec{Provider: "native"}))
		_, err := m.KmsProviderExport(s.ctx, crypto.KmsProviderExportSpec{Provider: "native"})
		s.must(err)
		s.must(m.KmsProviderDelete(s.ctx, "native"))
		s.fails(m.KmsProviderDelete(s.ctx, "native"))
	}, nil},
	{"Supervisors", func(s *side) {
		m := namespace.NewManager(s.rest)
		_, err := m.ListClusters(s.ctx)
		s.must(err)
		_, err = m.ListCompatibleDistributedSwitches(s.ctx, s.cluster.Value)
		s.must(err)
		_, err = m.ListCompatibleEdgeClusters(s.ctx, s.cluster.Value, "dvs-1")
		s.must(err)
		_, err = m.CreateSupportBundle(s.ctx, s.cluster.Value)
		s.must(err)
		s.must(m.CreateVmClass(s.ctx, namespace.VirtualMachineClassCreateSpec{Id: "small", CpuCount: 2, MemoryMb: 2048}))
		_, err = m.GetVmClass(s.ctx, "small")
		s.must(err)
		s.must(m.UpdateVmClass(s.ctx, "small", namespace.VirtualMachineClassUpdateSpec{CpuCount: 4, MemoryMb: 2048}))
		_, err = m.ListVmClasses(s.ctx)
		s.must(err)
		s.must(m.CreateNamespace(s.ctx, namespace.NamespacesInstanceCreateSpec{Cluster: s.cluster.Value, Namespace: "space"}))
		_, err = m.GetNamespace(s.ctx, "space")
		s.must(err)
		s.must(m.UpdateNamespace(s.ctx, "space", namespace.NamespacesInstanceUpdateSpec{}))
		_, err = m.ListNamespaces(s.ctx)
		s.must(err)
		s.must(m.DeleteNamespace(s.ctx, "space"))
		s.must(m.DeleteVmClass(s.ctx, "small"))
		_, err = m.ListSupervisorServices(s.ctx)
		s.must(err)
		_, err = m.GetSupervisorService(s.ctx, "service1")
		s.must(err)
	}, map[string]string{"^PATCH .*/space: not there": "vcsim writes an error behind the answer of a change"}},
	{"data sets", func(s *side) {
		s.hardware("vmx-20")
		m := dataset.NewManager(s.rest)
		spec := &dataset.CreateSpec{Name: "com.example.data", Description: "data", Host: dataset.AccessReadWrite, Guest: dataset.AccessReadWrite}
		id, err := m.CreateDataSet(s.ctx, s.vm.Value, spec)
		s.must(err)
		_, err = m.CreateDataSet(s.ctx, s.vm.Value, spec)
		s.fails(err)
		s.must(m.SetEntry(s.ctx, s.vm.Value, id, "key", "value"))
		_, err = m.GetEntry(s.ctx, s.vm.Value, id, "key")
		s.must(err)
		_, err = m.ListEntries(s.ctx, s.vm.Value, id)
		s.must(err)
		_, err = m.ListDataSets(s.ctx, s.vm.Value)
		s.must(err)
		s.must(m.DeleteDataSet(s.ctx, s.vm.Value, id, true))
		_, err = m.GetDataSet(s.ctx, s.vm.Value, id)
		s.fails(err)
	}, nil},
	{"appliance", func(s *side) {
		s.must(ssh.NewManager(s.rest).Set(s.ctx, ssh.Access{Enabled: true}))
		_, err := ssh.NewManager(s.rest).Get(s.ctx)
		s.must(err)
		s.must(shell.NewManager(s.rest).Set(s.ctx, shell.Access{Enabled: true, Timeout: 9}))
		_, err = shell.NewManager(s.rest).Get(s.ctx)
		s.must(err)
		s.must(dcui.NewManager(s.rest).Set(s.ctx, dcui.Access{Enabled: true}))
		_, err = dcui.NewManager(s.rest).Get(s.ctx)
		s.must(err)
		s.must(consolecli.NewManager(s.rest).Set(s.ctx, consolecli.Access{Enabled: true}))
		_, err = consolecli.NewManager(s.rest).Get(s.ctx)
		s.must(err)
		m := shutdown.NewManager(s.rest)
		s.must(m.PowerOff(s.ctx, "maintenance", 10))
		_, err = m.Get(s.ctx)
		s.must(err)
		s.must(m.Cancel(s.ctx))
	}, nil},
	{"zones", func(s *side) {
		m, a := zones.NewManager(s.rest), associations.NewManager(s.rest)
		_, err := m.CreateZone(zones.CreateSpec{Zone: "a", Description: "one"})
		s.must(err)
		_, err = m.GetZone("a")
		s.must(err)
		_, err = m.ListZones()
		s.must(err)
		s.must(a.AddAssociations("a", s.cluster.Value))
		_, err = a.GetAssociations("a")
		s.must(err)
		s.must(a.RemoveAssociations("a", s.cluster.Value))
		s.must(m.DeleteZone("a"))
		_, err = m.GetZone("a")
		s.fails(err)
	}, nil},
	{"tags", func(s *side) {
		m := tags.NewManager(s.rest)
		category, err := m.CreateCategory(s.ctx, &tags.Category{Name: "speed", Cardinality: "SINGLE"})
		s.must(err)
		tag, err := m.CreateTag(s.ctx, &tags.Tag{Name: "fast", CategoryID: category})
		s.must(err)
		_, err = m.CreateTag(s.ctx, &tags.Tag{Name: "fast", CategoryID: category})
		s.fails(err)
		s.must(m.AttachTag(s.ctx, tag, s.vm))
		_, err = m.ListAttachedTags(s.ctx, s.vm)
		s.must(err)
		_, err = m.ListAttachedObjects(s.ctx, tag)
		s.must(err)
		_, err = m.GetCategory(s.ctx, category)
		s.must(err)
		_, err = m.GetTag(s.ctx, tag)
		s.must(err)
		s.must(m.DeleteTag(s.ctx, &tags.Tag{ID: tag}))
	}, map[string]string{
		"value/messages": "an error has a message",
		"value/(associable_types|description|used_by)": "fields that a vCenter always has",
	}},
	{"library", func(s *side) {
		m := library.NewManager(s.rest)
		id, err := m.CreateLibrary(s.ctx, library.Library{Name: "kept", Type: "LOCAL", Storage: []library.StorageBacking{{DatastoreID: s.datastore.Value, Type: "DATASTORE"}}})
		s.must(err)
		_, err = m.GetLibraryByID(s.ctx, id)
		s.must(err)
		item, err := m.CreateLibraryItem(s.ctx, library.Item{Name: "item", Type: library.ItemTypeISO, LibraryID: id})
		s.must(err)
		_, err = m.GetLibraryItem(s.ctx, item)
		s.must(err)
		_, err = m.ListLibraryItems(s.ctx, id)
		s.must(err)
		s.must(m.DeleteLibrary(s.ctx, &library.Library{ID: id, Type: "LOCAL"}))
	}, nil},
	{"leases", func(s *side) {
		s.send(http.MethodPut, "/nfc/session[none]x/disk-0.vmdk", "disk")
		lease := s.lease()
		s.send(http.MethodPut, lease, "disk")
		s.send(http.MethodPut, strings.Replace(lease, "session", "sess", 1), "disk")
		s.send(http.MethodGet, "/nfc/", "")
	}, nil},
	{"a VM by REST", func(s *side) {
		s.hardware("vmx-20")
		s.send(http.MethodDelete, "/rest/vcenter/vm/"+s.vm.Value, "")
		s.send(http.MethodDelete, "/rest/vcenter/vm/"+s.vm.Value, "")
	}, map[string]string{"^DELETE .*: not (there: /(error_type|messages)|recorded: /(type|value))": "an error below /rest has the form of /rest"}},
	{"lists of methods and counters", func(s *side) {
		s.send(http.MethodGet, "/about", "")
		s.send(http.MethodGet, "/debug/vars", "")
	}, map[string]string{"^GET /debug/vars": "the command vcsim has it, its library has not"}},
}
