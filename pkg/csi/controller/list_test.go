package controller_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

func TestListVolumes(t *testing.T) {
	fake, c := newCluster(t)
	var want []string
	for i := range 7 {
		want = append(want, create(t, c, request(fmt.Sprint("v", i), gib, "a")).GetVolumeId())
	}
	publish(t, c, want[3], nodeUS2)
	fake.SetHealthy(want[4], false)
	answer, err := c.ListVolumes(t.Context(), &csi.ListVolumesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range answer.GetEntries() {
		var on []string
		if i == 3 {
			on = []string{nodeUS2}
		}
		if d := cmp.Diff(on, e.GetStatus().GetPublishedNodeIds()); d != "" {
			t.Error(d)
		}
		if e.GetVolume().GetVolumeId() != want[i] || e.GetStatus().GetVolumeCondition().GetAbnormal() != (i == 4) {
			t.Errorf("%d: %v", i, e)
		}
	}
	if n := len(answer.GetEntries()); n != len(want) {
		t.Errorf("%d volumes", n)
	}
}

// Pages neither repeat nor skip entries that exist the whole time, although the last entry of a page is deleted and others are added.
func TestListVolumesPages(t *testing.T) {
	fake, c := newCluster(t)
	var before []string
	for i := range 5 {
		before = append(before, create(t, c, request(fmt.Sprint("v", i), gib, "a")).GetVolumeId())
	}
	var got []string
	r := &csi.ListVolumesRequest{MaxEntries: 2}
	for round := 0; ; round++ {
		answer, err := c.ListVolumes(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range answer.GetEntries() {
			got = append(got, e.GetVolume().GetVolumeId())
		}
		if round == 0 {
			if err := fake.Delete(t.Context(), before[1]); err != nil {
				t.Fatal(err)
			}
			before = append(before, create(t, c, request("late", gib, "a")).GetVolumeId())
		}
		if r.StartingToken = answer.GetNextToken(); r.StartingToken == "" {
			break
		}
	}
	if !slices.Equal(got, before) {
		t.Errorf("%v, want %v", got, before)
	}
}

func TestListVolumesRefused(t *testing.T) {
	fake, c := newCluster(t)
	for _, token := range []string{"invalid-token", "3", "YWZ0ZXI6", "!"} {
		_, err := c.ListVolumes(t.Context(), &csi.ListVolumesRequest{StartingToken: token})
		wantCode(t, err, codes.Aborted)
	}
	if n := fake.Calls("Volumes"); n != 0 {
		t.Errorf("%d listings", n)
	}
	fake.Fail("Volumes", fmt.Errorf("vcenter eu: %w", volume.ErrUnavailable))
	_, err := c.ListVolumes(t.Context(), &csi.ListVolumesRequest{})
	wantCode(t, err, codes.Unavailable)
}

func TestGetVolume(t *testing.T) {
	fake, c := newCluster(t)
	id := create(t, c, request("v", gib, "a")).GetVolumeId()
	publish(t, c, id, nodeUS1)
	fake.SetHealthy(id, false)
	answer, err := c.ControllerGetVolume(t.Context(), &csi.ControllerGetVolumeRequest{VolumeId: id})
	if err != nil {
		t.Fatal(err)
	}
	s := answer.GetStatus()
	if !s.GetVolumeCondition().GetAbnormal() || !slices.Equal(s.GetPublishedNodeIds(), []string{nodeUS1}) || answer.GetVolume().GetCapacityBytes() != gib {
		t.Error(answer)
	}
	_, err = c.ControllerGetVolume(t.Context(), &csi.ControllerGetVolumeRequest{VolumeId: "none"})
	wantCode(t, err, codes.NotFound)
}

func TestCapacity(t *testing.T) {
	for name, test := range map[string]struct {
		r            *csi.GetCapacityRequest
		sum, largest int64
	}{
		"a zone":        {&csi.GetCapacityRequest{AccessibleTopology: &csi.Topology{Segments: in("a")}}, 150 * gib, 100 * gib},
		"a policy":      {&csi.GetCapacityRequest{AccessibleTopology: &csi.Topology{Segments: in("a")}, Parameters: map[string]string{"storagepolicyname": "gold"}}, 50 * gib, 50 * gib},
		"nowhere":       {&csi.GetCapacityRequest{AccessibleTopology: &csi.Topology{Segments: in("nowhere")}}, 0, 0},
		"everywhere":    {&csi.GetCapacityRequest{}, 150 * gib, 100 * gib},
		"not such ones": {&csi.GetCapacityRequest{VolumeCapabilities: []*csi.VolumeCapability{capability(csi.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER)}}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			_, c := newCluster(t)
			answer, err := c.GetCapacity(t.Context(), test.r)
			if err != nil {
				t.Fatal(err)
			}
			if answer.GetAvailableCapacity() != test.sum || answer.GetMaximumVolumeSize().GetValue() != test.largest {
				t.Error(answer)
			}
		})
	}
	// Of a class that CreateVolume refuses, CreateVolume has the reason: the scheduler must let its pods pass.
	const largest = 62 << 10 * gib
	fake, c := newCluster(t)
	for _, wrong := range []map[string]string{{"csi.storage.k8s.io/fstype": "ntfs"}, {"nonsense": "x"}, {"datastoreurl": "a", "DatastoreURL": "b"}, {"diskformat": "thick"}} {
		create := request("wrong", gib, "a")
		create.Parameters = wrong
		if _, err := c.CreateVolume(t.Context(), create); err == nil {
			t.Errorf("CreateVolume takes %v", wrong)
		}
		answer, err := c.GetCapacity(t.Context(), &csi.GetCapacityRequest{Parameters: wrong})
		if err != nil || answer.GetMaximumVolumeSize().GetValue() != largest {
			t.Errorf("%v: %v, %v", wrong, answer, err)
		}
	}
	fake.Fail("Places", volume.ErrUnavailable)
	_, err := c.GetCapacity(t.Context(), &csi.GetCapacityRequest{})
	wantCode(t, err, codes.Unavailable)
	fake.Fail("Places", volume.ErrNotFound)
	answer, err := c.GetCapacity(t.Context(), &csi.GetCapacityRequest{})
	if err != nil || answer.GetMaximumVolumeSize().GetValue() != largest {
		t.Errorf("%v, %v", answer, err)
	}
}

func TestValidate(t *testing.T) {
	_, c := newCluster(t)
	id := create(t, c, request("v", gib, "a")).GetVolumeId()
	for name, test := range map[string]struct {
		r  *csi.ValidateVolumeCapabilitiesRequest
		ok bool
	}{
		"what it is":  {&csi.ValidateVolumeCapabilitiesRequest{VolumeContext: map[string]string{"type": "vSphere CNS Block Volume"}}, true},
		"file volume": {&csi.ValidateVolumeCapabilitiesRequest{VolumeContext: map[string]string{"type": "vSphere CNS File Volume"}}, false},
		"parameters":  {&csi.ValidateVolumeCapabilitiesRequest{Parameters: map[string]string{"x": ""}}, false},
		"class":       {&csi.ValidateVolumeCapabilitiesRequest{MutableParameters: map[string]string{"x": ""}}, false},
		"several nodes": {&csi.ValidateVolumeCapabilitiesRequest{VolumeCapabilities: []*csi.VolumeCapability{
			capability(csi.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY),
		}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			test.r.VolumeId = id
			if test.r.VolumeCapabilities == nil {
				test.r.VolumeCapabilities = []*csi.VolumeCapability{once()}
			}
			answer, err := c.ValidateVolumeCapabilities(t.Context(), test.r)
			if err != nil {
				t.Fatal(err)
			}
			if (answer.GetConfirmed() != nil) != test.ok || (answer.GetMessage() == "") != test.ok {
				t.Error(answer)
			}
		})
	}
	_, err := c.ValidateVolumeCapabilities(t.Context(), &csi.ValidateVolumeCapabilitiesRequest{
		VolumeId: "none", VolumeCapabilities: []*csi.VolumeCapability{once()},
	})
	wantCode(t, err, codes.NotFound)
}
