package cns_test

import (
	"cmp"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"
	"time"

	govcns "github.com/vmware/govmomi/cns"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	vslmsim "github.com/vmware/govmomi/vslm/simulator"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/corrections"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/property"
)

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// server is a vCenter with our CNS, property collector and corrections, served on the loopback, and a client's session there.
type server struct {
	*cns.Manager
	ctx *simulator.Context
	url *url.URL
	vim *vim25.Client
	cns *govcns.Client
	// By name; datastores are DS0… (the last is a vSAN's), VMs of one cluster with three hosts.
	vms, datastores, hosts []vc.Ref
}

// serve starts one with so many VMs. Model.Create writes to variables of its package: not for parallel tests; see serveMore.
func serve(t testing.TB, vms int, opts cns.Options) *server {
	t.Helper()
	model := simulator.VPX()
	model.ServiceContent.About.Version, model.ServiceContent.About.ApiVersion = "8.0.3", "8.0.3.0"
	model.Host, model.Autostart, model.Machine, model.Datastore = 0, true, vms, 3
	if err := model.Create(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Remove)

	s := &server{ctx: model.Service.Context}
	collectors, err := property.Install(s.ctx, property.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.vms, s.datastores, s.hosts = s.all("VirtualMachine"), s.all("Datastore"), s.all("HostSystem")
	vsan := s.ctx.Map.Get(s.datastores[2]).(*simulator.Datastore)
	vsan.Summary.Type = "vsan"
	if opts.Seed == "" {
		opts.Seed = "test"
	}
	s.Manager = cns.New(s.ctx, opts)
	corrections := corrections.Install(s.ctx, corrections.Options{Destroying: s.Destroying})
	s.ctx.Map.Handler = func(ctx *simulator.Context, method *simulator.Method) (mo.Reference, types.BaseMethodFault) {
		if fault := corrections.Check(ctx, method); fault != nil {
			return nil, fault
		}
		_ = s.Redirect(ctx, method) || corrections.Redirect(ctx, method)
		return nil, nil
	}
	model.Service.RegisterSDK(s.ctx.Map)
	model.Service.RegisterSDK(s.Registry())
	model.Service.RegisterSDK(s.Guard(vslmsim.New()))
	model.Service.ServeMux.HandleFunc(vim25.Path+"/vsanServiceVersions.xml", model.Service.ServiceVersionsVsan)
	web := httptest.NewTLSServer(model.Service.ServeMux)
	model.Service.Listen = &url.URL{}
	t.Cleanup(func() {
		s.Close()
		corrections.Close(s.ctx)
		collectors.Close() // or the server waits for the long polls
		web.Close()
	})
	s.url, _ = url.Parse(web.URL + vim25.Path)
	s.vim, s.cns = s.client(t)
	return s
}

// client opens another session.
func (s *server) client(t testing.TB) (*vim25.Client, *govcns.Client) {
	t.Helper()
	c, err := vim25.NewClient(t.Context(), soap.NewClient(s.url, true))
	if err != nil {
		t.Fatal(err)
	}
	if err := session.NewManager(c).Login(t.Context(), url.UserPassword("user", "pass")); err != nil {
		t.Fatal(err)
	}
	volumes, err := govcns.NewClient(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return c, volumes
}

// all lists the objects of a type by name.
func (s *server) all(kind string) []vc.Ref {
	type named struct {
		name string
		ref  vc.Ref
	}
	var list []named
	for _, e := range s.ctx.Map.All(kind) {
		list = append(list, named{e.Entity().Name, e.Reference()})
	}
	slices.SortFunc(list, func(a, b named) int { return cmp.Or(len(a.name)-len(b.name), cmp.Compare(a.name, b.name)) })
	refs := make([]vc.Ref, len(list))
	for i, n := range list {
		refs[i] = n.ref
	}
	return refs
}

// must fails the test for an error of a call that has to succeed.
func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// results waits for a task of CNS.
func results(t testing.TB, task *object.Task, err error) []cnstypes.BaseCnsVolumeOperationResult {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	info, err := task.WaitForResult(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	batch, ok := info.Result.(cnstypes.CnsVolumeOperationBatchResult)
	if !ok {
		t.Fatalf("result is a %T", info.Result)
	}
	return batch.VolumeResults
}

// only is the one result that a task has; failed its fault.
func only(t testing.TB, task *object.Task, err error) cnstypes.BaseCnsVolumeOperationResult {
	t.Helper()
	all := results(t, task, err)
	if len(all) != 1 {
		t.Fatalf("%d results, want one", len(all))
	}
	return all[0]
}

// fine fails the test for a fault in a result.
func fine(t testing.TB, r cnstypes.BaseCnsVolumeOperationResult) {
	t.Helper()
	if f := r.GetCnsVolumeOperationResult().Fault; f != nil {
		t.Fatalf("%T %s", f.Fault, f.LocalizedMessage)
	}
}

// refusedWith fails the test unless the result has a fault of that type.
func refusedWith[F any](t testing.TB, r cnstypes.BaseCnsVolumeOperationResult) F {
	t.Helper()
	var none F
	f := r.GetCnsVolumeOperationResult().Fault
	if f == nil {
		t.Fatalf("succeeded, want %T", none)
	}
	got, ok := f.Fault.(F)
	if !ok {
		t.Fatalf("%T, want %T", f.Fault, none)
	}
	return got
}

// spec asks for a block volume of a cluster.
func spec(name, cluster string, mb int64, on ...vc.Ref) cnstypes.CnsVolumeCreateSpec {
	c := cnstypes.CnsContainerCluster{ClusterType: string(cnstypes.CnsClusterTypeKubernetes), ClusterId: cluster, VSphereUser: "k8s"}
	return cnstypes.CnsVolumeCreateSpec{
		Name: name, VolumeType: string(cnstypes.CnsVolumeTypeBlock), Datastores: on,
		Metadata: cnstypes.CnsVolumeMetadata{ContainerCluster: c, ContainerClusterArray: []cnstypes.CnsContainerCluster{c}},
		BackingObjectDetails: &cnstypes.CnsBlockBackingDetails{
			CnsBackingObjectDetails: cnstypes.CnsBackingObjectDetails{CapacityInMb: mb},
		},
	}
}

// create makes a volume and returns its id.
func (s *server) create(t testing.TB, spec cnstypes.CnsVolumeCreateSpec) string {
	t.Helper()
	task, err := s.cns.CreateVolume(t.Context(), []cnstypes.CnsVolumeCreateSpec{spec})
	r := only(t, task, err)
	fine(t, r)
	return r.GetCnsVolumeOperationResult().VolumeId.Id
}

func (s *server) attach(t testing.TB, id string, vm vc.Ref) cnstypes.BaseCnsVolumeOperationResult {
	t.Helper()
	task, err := s.cns.AttachVolume(t.Context(), []cnstypes.CnsVolumeAttachDetachSpec{{VolumeId: cnstypes.CnsVolumeId{Id: id}, Vm: vm}})
	return only(t, task, err)
}

func (s *server) detach(t testing.TB, id string, vm vc.Ref) cnstypes.BaseCnsVolumeOperationResult {
	t.Helper()
	task, err := s.cns.DetachVolume(t.Context(), []cnstypes.CnsVolumeAttachDetachSpec{{VolumeId: cnstypes.CnsVolumeId{Id: id}, Vm: vm}})
	return only(t, task, err)
}

func (s *server) remove(t testing.TB, id string) cnstypes.BaseCnsVolumeOperationResult {
	t.Helper()
	task, err := s.cns.DeleteVolume(t.Context(), []cnstypes.CnsVolumeId{{Id: id}}, true)
	return only(t, task, err)
}

func (s *server) snapshot(t testing.TB, id, description string) cnstypes.BaseCnsVolumeOperationResult {
	t.Helper()
	task, err := s.cns.CreateSnapshots(t.Context(), []cnstypes.CnsSnapshotCreateSpec{{VolumeId: cnstypes.CnsVolumeId{Id: id}, Description: description}})
	return only(t, task, err)
}

func (s *server) deleteSnapshot(t testing.TB, id, snapshot string) cnstypes.BaseCnsVolumeOperationResult {
	t.Helper()
	task, err := s.cns.DeleteSnapshots(t.Context(), []cnstypes.CnsSnapshotDeleteSpec{{
		VolumeId: cnstypes.CnsVolumeId{Id: id}, SnapshotId: cnstypes.CnsSnapshotId{Id: snapshot},
	}})
	return only(t, task, err)
}

// query is CnsQueryVolume.
func (s *server) query(t testing.TB, f cnstypes.BaseCnsQueryFilter) *cnstypes.CnsQueryResult {
	t.Helper()
	return must[*cnstypes.CnsQueryResult](t)(s.cns.QueryVolume(t.Context(), f))
}

// names are those of volumes.
func names(volumes []cnstypes.CnsVolume) []string {
	list := make([]string, 0, len(volumes))
	for _, v := range volumes {
		list = append(list, v.Name)
	}
	return list
}

// kv is a label.
func kv(key, value string) types.KeyValue { return types.KeyValue{Key: key, Value: value} }

// waitFor waits until something is so.
func waitFor(t testing.TB, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("still not so")
		}
	}
}
