package doors

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/race"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/trace"
)

// TestBesideStock makes the same calls to stock vcsim and to a simulated vCenter: status and structure of their answers are the same,
// but for the differences that the table names.
func TestBesideStock(t *testing.T) {
	if race.Enabled {
		t.Skip("stock vcsim has data races")
	}
	for _, api := range apis {
		t.Run(api.name, func(t *testing.T) {
			was, now := stock(t), ours(t)
			api.calls(was)
			api.calls(now)
			found := differences(t, was.calls, now.calls)
			corrected := map[string]bool{}
			for pattern, why := range api.corrected {
				matches := regexp.MustCompile(pattern).MatchString
				applies := false
				for _, d := range found {
					if matches(d) {
						corrected[d], applies = true, true
					}
				}
				if !applies {
					t.Errorf("no longer a difference: %s (%s)", pattern, why)
				}
			}
			found = slices.DeleteFunc(found, func(d string) bool { return corrected[d] })
			for _, d := range found {
				t.Error(d)
			}
		})
	}
}

// differences compares two recordings of the same calls.
func differences(t *testing.T, was, now []trace.Call) (all []string) {
	t.Helper()
	was, now = withoutPolls(was), withoutPolls(now)
	if len(was) == 0 || len(was) != len(now) {
		t.Fatalf("%d calls of stock vcsim, %d here", len(was), len(now))
	}
	for i := range was {
		if named(was[i].Method) != named(now[i].Method) {
			t.Fatalf("call %d: %s of stock vcsim, %s here", i+1, was[i].Method, now[i].Method)
		}
	}
	target := trace.Target{URL: &url.URL{Scheme: "https", Host: "vc", User: url.UserPassword("user", "pass")}, Transport: &playback{now}}
	err := trace.Replay(t.Context(), was, map[string]trace.Target{"vc": target}, func(o trace.Outcome) error {
		if o.Skipped != "" {
			return fmt.Errorf("%s: %s", o.Call.Method, o.Skipped)
		}
		for _, d := range o.Differences {
			all = append(all, named(o.Call.Method)+": "+d)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// polls are the questions for the state of a task, of which there are as many as it takes.
var polls = []string{"VslmQueryInfo", "CreatePropertyCollector", "DestroyPropertyCollector", "CreateFilter", "DestroyPropertyFilter", "WaitForUpdatesEx"}

func withoutPolls(calls []trace.Call) []trace.Call {
	return slices.DeleteFunc(slices.Clone(calls), func(c trace.Call) bool { return slices.Contains(polls, c.Method) })
}

var identifier = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|(domain-c|vm-|datastore-|session)[^/]*|urn:[^/?]*`)

// named is a method without the identifiers of a vCenter.
func named(method string) string { return identifier.ReplaceAllString(method, "…") }

// playback answers with recorded answers, one after the other.
type playback struct{ calls []trace.Call }

// RoundTrip implements http.RoundTripper.
func (p *playback) RoundTrip(r *http.Request) (*http.Response, error) {
	if len(p.calls) == 0 {
		return nil, errors.New("no call is left")
	}
	c := p.calls[0]
	p.calls = p.calls[1:]
	return &http.Response{StatusCode: c.Status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(c.Answer.Body)), Request: r}, nil
}

// hardware turns the VM off, and gives it a version at least.
func (s *side) hardware(version string) {
	s.t.Helper()
	vm := object.NewVirtualMachine(s.vim, s.vm)
	for _, step := range []func() (*object.Task, error){
		func() (*object.Task, error) { return vm.PowerOff(s.ctx) },
		func() (*object.Task, error) { return vm.UpgradeVM(s.ctx, version) },
	} {
		task, err := step()
		s.must(err)
		_ = task.Wait(s.ctx) // it may be so already
	}
}

// lease begins the import of a VM, and returns the path of its disk.
func (s *side) lease() string {
	s.t.Helper()
	finder := object.NewSearchIndex(s.vim)
	at := func(path string) types.ManagedObjectReference {
		ref, err := finder.FindByInventoryPath(s.ctx, path)
		s.must(err)
		return ref.Reference()
	}
	spec := &types.VirtualMachineImportSpec{ConfigSpec: types.VirtualMachineConfigSpec{
		Name: "imported", GuestId: "otherGuest", NumCPUs: 1, MemoryMB: 32, Files: &types.VirtualMachineFileInfo{VmPathName: "[LocalDS_0]"},
		DeviceChange: []types.BaseVirtualDeviceConfigSpec{
			&types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationAdd, Device: &types.ParaVirtualSCSIController{VirtualSCSIController: types.VirtualSCSIController{
				SharedBus: types.VirtualSCSISharingNoSharing, VirtualController: types.VirtualController{VirtualDevice: types.VirtualDevice{Key: -1}},
			}}},
			&types.VirtualDeviceConfigSpec{
				Operation: types.VirtualDeviceConfigSpecOperationAdd, FileOperation: types.VirtualDeviceConfigSpecFileOperationCreate,
				Device: &types.VirtualDisk{CapacityInKB: 1024, VirtualDevice: types.VirtualDevice{
					Key: -2, ControllerKey: -1, UnitNumber: new(int32), Backing: &types.VirtualDiskFlatVer2BackingInfo{
						DiskMode: string(types.VirtualDiskModePersistent), VirtualDeviceFileBackingInfo: types.VirtualDeviceFileBackingInfo{FileName: "[LocalDS_0]"},
					},
				}},
			},
		},
	}}
	pool := object.NewResourcePool(s.vim, at("/DC0/host/DC0_C0/Resources"))
	lease, err := pool.ImportVApp(s.ctx, spec, object.NewFolder(s.vim, at("/DC0/vm")), nil)
	s.must(err)
	info, err := lease.Wait(s.ctx, []types.OvfFileItem{{DeviceId: "disk-0", Path: "disk-0.vmdk"}})
	s.must(err)
	if len(info.DeviceUrl) == 0 {
		s.t.Fatalf("%s: a lease without files: %+v", s.name, info)
	}
	u, err := url.Parse(info.DeviceUrl[0].Url)
	s.must(err)
	return u.Path
}
