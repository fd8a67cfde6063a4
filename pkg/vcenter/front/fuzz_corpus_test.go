package front_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/cns"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/event"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/pbm"
	"github.com/vmware/govmomi/vapi/library"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// sample is a request as a client sent it, without its sessions.
type sample struct {
	method, target string
	headers        [][2]string
	body           []byte
	// raw is all that is sent instead, when it is set.
	raw []byte
}

func (s sample) clone() sample {
	s.headers, s.body = slices.Clone(s.headers), slices.Clone(s.body)
	return s
}

func (s sample) header(key string) string {
	for _, h := range s.headers {
		if strings.EqualFold(h[0], key) {
			return h[1]
		}
	}
	return ""
}

// set replaces a header.
func (s *sample) set(key, value string) {
	s.headers = slices.DeleteFunc(s.headers, func(h [2]string) bool { return strings.EqualFold(h[0], key) })
	s.headers = append(s.headers, [2]string{key, value})
}

// recorder is a guard that refuses nothing, and remembers what came.
type recorder struct {
	mu      sync.Mutex
	samples []sample
}

func (rec *recorder) Pass(r *http.Request, body []byte, forward func(*http.Request) error) error {
	if r.Method != http.MethodPost { // the front has read the beginning only
		rest, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		body = append(body, rest...)
	}
	s := sample{method: r.Method, target: r.URL.RequestURI(), body: body}
	for _, h := range []string{"Content-Type", "Soapaction", "Accept"} {
		if v := r.Header.Get(h); v != "" {
			s.headers = append(s.headers, [2]string{h, v})
		}
	}
	out := r.Clone(r.Context())
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	rec.mu.Lock()
	rec.samples = append(rec.samples, s)
	rec.mu.Unlock()
	return forward(out)
}

// record has clients do what govc, a cloud provider and a CSI driver do, and write in many ways, through a front that lets all
// of it through. The samples are what they sent; the first reads of them read.
func (r *rig) record(t *testing.T) (samples []sample, reads int) {
	t.Helper()
	rec := &recorder{}
	recording := *r
	recording.front = r.guarded(t, r.direct.VCenter, rec, nil)
	c, rc := recording.client(t, "recorder")
	readAll(t, c, rc)
	reads = len(rec.samples)
	writeAll(t, c, rc)
	rec.mu.Lock()
	defer rec.mu.Unlock()
	samples = slices.Clone(rec.samples)
	for i := range samples { // what is made again needs another name
		samples[i].body = bytes.ReplaceAll(samples[i].body, []byte("created"), []byte("again"))
	}
	return samples, reads
}

// must fails the test where a client could not do what the recording needs.
func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func readAll(t *testing.T, c *govmomi.Client, rc *rest.Client) {
	t.Helper()
	ctx := t.Context()
	finder := find.NewFinder(c.Client)
	all := vms(t, c.Client)
	finder.SetDatacenter(must[*object.Datacenter](t)(finder.DefaultDatacenter(ctx)))
	store := must[*object.Datastore](t)(finder.DefaultDatastore(ctx))
	must[[]*object.HostSystem](t)(finder.HostSystemList(ctx, "*"))
	must[*time.Time](t)(methods.GetCurrentTime(ctx, c.Client))
	v := must[*view.ContainerView](t)(view.NewManager(c.Client).CreateContainerView(ctx, c.ServiceContent.RootFolder, []string{"VirtualMachine"}, true))
	var list []mo.VirtualMachine
	for _, err := range []error{v.Retrieve(ctx, []string{"VirtualMachine"}, []string{"name", "guest", "config.uuid"}, &list), v.Destroy(ctx)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	must[object.Reference](t)(object.NewSearchIndex(c.Client).FindByUuid(ctx, nil, list[0].Config.Uuid, true, nil))
	browser := must[*object.HostDatastoreBrowser](t)(store.Browser(ctx))
	task := must[*object.Task](t)(browser.SearchDatastore(ctx, store.Path(""), &types.HostDatastoreBrowserSearchSpec{MatchPattern: []string{"*"}}))
	must[*types.TaskInfo](t)(task.WaitForResult(ctx))
	must[[]types.BaseEvent](t)(event.NewManager(c.Client).QueryEvents(ctx, types.EventFilterSpec{}))
	must[object.AuthorizationRoleList](t)(object.NewAuthorizationManager(c.Client).RoleList(ctx))
	must[*types.UserSession](t)(c.SessionManager.UserSession(ctx))

	m := tags.NewManager(rc)
	must[[]tags.Category](t)(m.GetCategories(ctx))
	must[[]tags.AttachedTags](t)(m.GetAttachedTagsOnObjects(ctx, refs(all)))
	must[[]string](t)(m.ListAttachedTags(ctx, all[0]))
	must[[]library.Library](t)(library.NewManager(rc).GetLibraries(ctx))
	must[[]string](t)(library.NewManager(rc).FindLibrary(ctx, library.Find{Name: "x"}))
	must[*rest.Session](t)(rc.Session(ctx))
	volumes := must[*cns.Client](t)(cns.NewClient(ctx, c.Client))
	must[*cnstypes.CnsQueryResult](t)(volumes.QueryVolume(ctx, &cnstypes.CnsQueryFilter{}))
	must[pbm.ProfileMap](t)(profiles(ctx, c))
}

func profiles(ctx context.Context, c *govmomi.Client) (pbm.ProfileMap, error) {
	policies, err := pbm.NewClient(ctx, c.Client)
	if err != nil {
		return pbm.ProfileMap{}, err
	}
	m, err := policies.ProfileMap(ctx)
	if err != nil {
		return pbm.ProfileMap{}, err
	}
	return *m, nil
}

// writeAll writes to the VM in the folder, destroys the last one, and makes things.
func writeAll(t *testing.T, c *govmomi.Client, rc *rest.Client) {
	t.Helper()
	ctx := t.Context()
	all := vms(t, c.Client)
	finder := find.NewFinder(c.Client)
	vm := must[*object.VirtualMachine](t)(finder.VirtualMachine(ctx, "/DC0/vm/k8s/*"))
	all = slices.DeleteFunc(all, func(v *object.VirtualMachine) bool { return v.Reference() == vm.Reference() })
	gone := all[len(all)-1]
	dc := must[*object.Datacenter](t)(finder.DefaultDatacenter(ctx))
	finder.SetDatacenter(dc)
	store := must[*object.Datastore](t)(finder.DefaultDatastore(ctx))
	folders := must[*object.DatacenterFolders](t)(dc.Folders(ctx))
	pool := must[*object.ResourcePool](t)(gone.ResourcePool(ctx))
	files := object.NewFileManager(c.Client)
	for _, err := range []error{
		do(t)(vm.PowerOff(ctx)), do(t)(vm.PowerOn(ctx)), do(t)(vm.Suspend(ctx)), do(t)(vm.PowerOn(ctx)), do(t)(vm.Reset(ctx)),
		do(t)(vm.Rename(ctx, "other")), do(t)(vm.Rename(ctx, vm.Name())),
		do(t)(vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{Annotation: "written"})),
		do(t)(vm.CreateSnapshot(ctx, "s", "", false, false)), do(t)(vm.RemoveAllSnapshot(ctx, nil)),
		do(t)(vm.Clone(ctx, folders.VmFolder, "cloned", types.VirtualMachineCloneSpec{})),
		do(t)(gone.PowerOff(ctx)), do(t)(gone.Destroy(ctx)),
		files.MakeDirectory(ctx, store.Path("made"), dc, true),
		store.Upload(ctx, strings.NewReader("text"), "made/file.txt", &soap.DefaultUpload),
		do(t)(files.CopyDatastoreFile(ctx, store.Path("made/file.txt"), dc, store.Path("made/copy.txt"), dc, true)),
		do(t)(files.DeleteDatastoreFile(ctx, store.Path("made/copy.txt"), dc)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	must[*object.Folder](t)(folders.VmFolder.CreateFolder(ctx, "created"))
	must[*object.ResourcePool](t)(pool.Create(ctx, "created", types.DefaultResourceConfigSpec()))
	roles := object.NewAuthorizationManager(c.Client)
	role := must[int32](t)(roles.AddRole(ctx, "created", []string{"System.View"}))
	permission := types.Permission{Principal: "reader@vsphere.local", RoleId: role, Propagate: true}
	if err := roles.SetEntityPermissions(ctx, folders.VmFolder.Reference(), []types.Permission{permission}); err != nil {
		t.Fatal(err)
	}
	m := tags.NewManager(rc)
	category := must[string](t)(m.CreateCategory(ctx, &tags.Category{Name: "created", Cardinality: "MULTIPLE", AssociableTypes: []string{"VirtualMachine"}}))
	one := must[string](t)(m.CreateTag(ctx, &tags.Tag{Name: "one", CategoryID: category}))
	two := must[string](t)(m.CreateTag(ctx, &tags.Tag{Name: "two", CategoryID: category}))
	for _, err := range []error{
		m.AttachTag(ctx, one, vm), m.DetachTag(ctx, one, vm), m.AttachTag(ctx, two, vm), m.UpdateTag(ctx, &tags.Tag{ID: one, Name: "renamed", CategoryID: category}),
		m.AttachTagToMultipleObjects(ctx, two, refs(all[:1])), m.DeleteTag(ctx, &tags.Tag{ID: one}),
	} {
		if err != nil && !strings.Contains(err.Error(), "404") { // vcsim knows not all of it
			t.Fatal(err)
		}
	}
	must[string](t)(m.CreateTag(ctx, &tags.Tag{Name: "three", CategoryID: category}))
	must[string](t)(library.NewManager(rc).CreateLibrary(ctx, library.Library{
		Name: "created", Type: "LOCAL", Storage: []library.StorageBacking{{DatastoreID: store.Reference().Value, Type: "DATASTORE"}},
	}))
	volumes := must[*cns.Client](t)(cns.NewClient(ctx, c.Client))
	task := must[*object.Task](t)(volumes.CreateVolume(ctx, []cnstypes.CnsVolumeCreateSpec{{
		Name: "created", VolumeType: string(cnstypes.CnsVolumeTypeBlock), Datastores: []types.ManagedObjectReference{store.Reference()},
		Metadata:             cnstypes.CnsVolumeMetadata{ContainerCluster: cnstypes.CnsContainerCluster{ClusterType: string(cnstypes.CnsClusterTypeKubernetes), ClusterId: "c", VSphereUser: "u"}},
		BackingObjectDetails: &cnstypes.CnsBlockBackingDetails{CnsBackingObjectDetails: cnstypes.CnsBackingObjectDetails{CapacityInMb: 16}},
	}}))
	info := must[*types.TaskInfo](t)(task.WaitForResult(ctx))
	result, ok := info.Result.(cnstypes.CnsVolumeOperationBatchResult)
	if !ok || result.VolumeResults[0].GetCnsVolumeOperationResult().Fault != nil {
		t.Fatalf("%+v", info.Result)
	}
	id := result.VolumeResults[0].GetCnsVolumeOperationResult().VolumeId
	spec := []cnstypes.CnsVolumeAttachDetachSpec{{VolumeId: id, Vm: vm.Reference()}}
	for _, move := range []func(context.Context, []cnstypes.CnsVolumeAttachDetachSpec) (*object.Task, error){volumes.AttachVolume, volumes.DetachVolume} {
		if err := must[*object.Task](t)(move(ctx, spec)).Wait(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// built are calls of methods that no client has recorded: each writing method of a list, on objects that there are.
func built(objects []types.ManagedObjectReference) (all []sample) {
	writing := map[string][]string{
		"VirtualMachine": {"UnregisterVM", "MarkAsTemplate", "RelocateVM_Task", "MigrateVM_Task", "UpgradeVM_Task", "AnswerVM", "ReloadVirtualMachineFromPath_Task", "SetCustomValue", "CustomizeVM_Task"},
		"Folder":         {"Destroy_Task", "Rename_Task", "CreateDatacenter", "CreateStoragePod", "UnregisterAndDestroy_Task", "MoveIntoFolder_Task"},
		"HostSystem":     {"EnterMaintenanceMode_Task", "DisconnectHost_Task", "RebootHost_Task", "ShutdownHost_Task", "Destroy_Task"},
		"Datastore":      {"DestroyDatastore", "RefreshDatastore", "RenameDatastore", "Destroy_Task"},
		"Datacenter":     {"PowerOnMultiVM_Task", "Destroy_Task", "Rename_Task"},
		"ResourcePool":   {"DestroyChildren", "UpdateConfig", "CreateVApp", "ImportVApp", "CreateChildVM_Task"},
		"Network":        {"DestroyNetwork", "Destroy_Task"},
	}
	for _, ref := range objects {
		for _, name := range writing[ref.Type] {
			all = append(all, sample{
				method: "POST", target: "/sdk", headers: [][2]string{{"Content-Type", `text/xml; charset="utf-8"`}, {"Soapaction", "urn:vim25/8.0.3.0"}},
				body: []byte(envelope(fmt.Sprintf(`<%s xmlns="urn:vim25"><_this type=%q>%s</_this><newName>built</newName><name>built</name></%s>`, name, ref.Type, ref.Value, name))),
			})
		}
	}
	return all
}
