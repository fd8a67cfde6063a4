package controller_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/controller"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// A volume is created in the required topology, and the response has the segments that reach it.
func TestCreateTopology(t *testing.T) {
	for _, test := range []struct {
		name       string
		zones      []string
		parameters map[string]string
		vcenter    string
		url        string
		reached    []string // zones of the response
	}{
		{"the preferred zone", []string{"b", "a", "c"}, nil, "us", "ds:///vmfs/volumes/b/", []string{"b"}},
		{"another vCenter", []string{"c"}, nil, "eu", "ds:///vmfs/volumes/c/", []string{"c"}},
		{"anywhere", nil, nil, "eu", "ds:///vmfs/volumes/c/", []string{"c"}},
		{"a policy", []string{"a", "b"}, map[string]string{"StoragePolicyName": "gold"}, "us", "ds:///vmfs/volumes/shared/", []string{"a", "b"}},
		{"a datastore", []string{"a", "b"}, map[string]string{"datastoreurl": "ds:///vmfs/volumes/b/"}, "us", "ds:///vmfs/volumes/b/", []string{"b"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			fake, c := newCluster(t)
			r := request("pvc-1", gib, test.zones...)
			r.Parameters = test.parameters
			v := create(t, c, r)
			at, err := fake.Volume(t.Context(), v.GetVolumeId())
			if err != nil {
				t.Fatal(err)
			}
			if at.VCenter != test.vcenter || at.DatastoreURL != test.url {
				t.Errorf("on %s of %s", at.DatastoreURL, at.VCenter)
			}
			var zones []string
			for _, topology := range v.GetAccessibleTopology() {
				zones = append(zones, topology.GetSegments()[zone])
			}
			if d := cmp.Diff(test.reached, zones); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(map[string]string{"type": "vSphere CNS Block Volume"}, v.GetVolumeContext()); d != "" {
				t.Error(d)
			}
		})
	}
}

// A second call returns the first volume, and one with other properties is refused.
func TestCreateTwice(t *testing.T) {
	_, c := newCluster(t)
	first := create(t, c, request("v", gib, "a"))
	if again := create(t, c, request("v", gib, "a")); again.GetVolumeId() != first.GetVolumeId() {
		t.Errorf("a second volume %s", again.GetVolumeId())
	}
	_, err := c.CreateVolume(t.Context(), request("v", 2*gib, "a"))
	wantCode(t, err, codes.AlreadyExists)
}

func TestCreateMetadata(t *testing.T) {
	fake, c := newCluster(t)
	r := request("pvc-1", gib, "a")
	r.Parameters = map[string]string{
		"csi.storage.k8s.io/pvc/name": "data", "csi.storage.k8s.io/pvc/namespace": "shop", "csi.storage.k8s.io/pv/name": "pv-1",
		"csi.storage.k8s.io/fstype": "xfs", "csi.storage.k8s.io/something-new": "x",
	}
	m, _ := fake.Metadata(create(t, c, r).GetVolumeId())
	if d := cmp.Diff(volume.Metadata{PV: "pv-1", PVC: "data", Namespace: "shop"}, m); d != "" {
		t.Error(d)
	}
	m, _ = fake.Metadata(create(t, c, request("pvc-2", gib)).GetVolumeId())
	if d := cmp.Diff(volume.Metadata{PV: "pvc-2"}, m); d != "" {
		t.Error(d)
	}
}

func TestSizes(t *testing.T) {
	for _, test := range []struct {
		required, limit int64
		want            int64
		code            codes.Code
	}{
		{0, 0, 10 * gib, codes.OK},
		{1, 0, mib, codes.OK},
		{gib + 1, 0, gib + mib, codes.OK},
		{gib, gib, gib, codes.OK},
		{0, gib, gib, codes.OK},
		{0, gib + 5, gib, codes.OK},
		{gib + 1, gib + 2, 0, codes.OutOfRange},
		{0, 5, 0, codes.OutOfRange},
		{1 << 62, 0, 0, codes.OutOfRange},
		{62<<40 + 1, 0, 0, codes.OutOfRange},
		{2 * gib, gib, 0, codes.InvalidArgument},
		{-1, 0, 0, codes.InvalidArgument},
		{0, -1, 0, codes.InvalidArgument},
		{62 << 40, 0, 0, codes.ResourceExhausted}, // the size is valid
	} {
		t.Run(fmt.Sprint(test.required, "-", test.limit), func(t *testing.T) {
			_, c := newCluster(t)
			r := request("v", 0, "a")
			r.CapacityRange = &csi.CapacityRange{RequiredBytes: test.required, LimitBytes: test.limit}
			answer, err := c.CreateVolume(t.Context(), r)
			wantCode(t, err, test.code)
			if got := answer.GetVolume().GetCapacityBytes(); got != test.want {
				t.Errorf("%d bytes, want %d", got, test.want)
			}
		})
	}
}

func TestModes(t *testing.T) {
	for mode, name := range csi.VolumeCapability_AccessMode_Mode_name {
		t.Run(name, func(t *testing.T) {
			_, c := newCluster(t)
			r := request("v", gib)
			r.VolumeCapabilities = []*csi.VolumeCapability{capability(csi.VolumeCapability_AccessMode_Mode(mode))}
			_, err := c.CreateVolume(t.Context(), r)
			switch name {
			case "SINGLE_NODE_WRITER", "SINGLE_NODE_SINGLE_WRITER", "SINGLE_NODE_MULTI_WRITER":
				wantCode(t, err, codes.OK)
			case "MULTI_NODE_MULTI_WRITER", "MULTI_NODE_READER_ONLY", "MULTI_NODE_SINGLE_WRITER":
				wantCode(t, err, codes.Internal)
				if message := status.Convert(err).Message(); !strings.Contains(message, "place for file volume") {
					t.Error(message)
				}
			default:
				wantCode(t, err, codes.InvalidArgument)
			}
		})
	}
	t.Run("raw", func(t *testing.T) {
		_, c := newCluster(t)
		r := request("v", gib)
		r.VolumeCapabilities = []*csi.VolumeCapability{raw()}
		create(t, c, r)
	})
	for _, name := range []string{"btrfs", "XFS", "ext2", "nonsense"} {
		t.Run(name, func(t *testing.T) {
			_, c := newCluster(t)
			r := request("v", gib)
			r.VolumeCapabilities[0].GetMount().FsType = name
			_, err := c.CreateVolume(t.Context(), r)
			wantCode(t, err, codes.InvalidArgument)
		})
	}
}

// The old name of the file system's parameter works, in any case, with a warning in the log.
func TestOldFSType(t *testing.T) {
	for _, key := range []string{"fstype", "fsType", "FSType"} {
		fake, _ := newCluster(t)
		var log strings.Builder
		c := controller.New(controller.Config{Store: fake, Nodes: fake, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		r := request("v", gib, "a")
		r.Parameters = map[string]string{key: "xfs"}
		create(t, c, r)
		if !strings.Contains(log.String(), "deprecated") {
			t.Errorf("%s: no warning: %q", key, log.String())
		}
	}
}

// A storage policy or a datastore may be created later: the provisioner must not take the error for the last one.
func TestMissingPolicy(t *testing.T) {
	fake, c := newCluster(t)
	r := request("v", gib, "a")
	r.Parameters = map[string]string{"storagepolicyname": "silver"}
	_, err := c.CreateVolume(t.Context(), r)
	wantCode(t, err, codes.Internal)
	if message := status.Convert(err).Message(); !strings.Contains(message, `"silver"`) {
		t.Error(message)
	}
	fake.AddPolicy("us", "silver", "policy-silver", "datastore-1")
	fake.AddPolicy("eu", "silver", "policy-silver", "datastore-1")
	create(t, c, r)
}

// An unknown parameter is refused with a suggestion.
func TestParameters(t *testing.T) {
	for _, test := range []struct {
		given map[string]string
		text  string
	}{
		{map[string]string{"storagePolicy": "gold"}, "did you mean storagepolicyname?"},
		{map[string]string{"datastore": "ds:///"}, "did you mean datastoreurl?"},
		{map[string]string{"diskformat": "thin"}, "use one of storagepolicyname, datastoreurl, csi.storage.k8s.io/fstype"},
		{map[string]string{strings.Repeat("x", 100): ""}, "unknown"},
		{map[string]string{"datastoreurl": "a", "DatastoreURL": "b"}, "is also set as"},
		{map[string]string{"csi.storage.k8s.io/fstype": "EXT4"}, "use one of ext4, ext3, xfs"},
		{map[string]string{"csi.storage.k8s.io/fstype": "btrfs"}, "use one of ext4, ext3, xfs"},
		{map[string]string{"fsType": "vfat"}, "use one of ext4, ext3, xfs"},
	} {
		_, c := newCluster(t)
		r := request("v", gib, "a")
		r.Parameters = test.given
		_, err := c.CreateVolume(t.Context(), r)
		wantCode(t, err, codes.InvalidArgument)
		if message := status.Convert(err).Message(); !strings.Contains(message, test.text) {
			t.Errorf("%v: %q is not in %q", test.given, test.text, message)
		}
	}
}
