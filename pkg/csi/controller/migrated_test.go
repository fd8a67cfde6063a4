package controller_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/controller"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// inTree implements [controller.Migrated].
type inTree struct {
	remembered []string
	err        error // of Remember
}

func (*inTree) DatastoreURL(_ context.Context, name string) (string, error) {
	switch name {
	case "":
		return "ds:///vmfs/volumes/shared/", nil
	case "local-b":
		return "ds:///vmfs/volumes/b/", nil
	}
	return "", errors.Join(volume.ErrNoDatastore)
}

func (m *inTree) RecordVolume(_ context.Context, id string) (string, error) {
	m.remembered = append(m.remembered, id)
	return "[ds] fcd/" + id + ".vmdk", m.err
}

// A created volume whose path cannot be recorded causes a retry: after a final error it would be orphaned.
func TestCreateInTreeUnnoted(t *testing.T) {
	for _, why := range []error{volume.ErrState, volume.ErrUnavailable, errors.New("a mistake")} {
		fake, _ := newCluster(t)
		c := controller.New(controller.Config{Store: fake, Nodes: fake, Migrated: &inTree{err: why}})
		r := request("pvc-1", gib, "a")
		r.Parameters = map[string]string{"csimigration": "true"}
		if _, err := c.CreateVolume(t.Context(), r); status.Code(err) != codes.Aborted || !strings.Contains(err.Error(), why.Error()) {
			t.Errorf("%v: %v", why, err)
		}
	}
}

// A StorageClass of the in-tree provider, as translated by Kubernetes.
func TestCreateInTree(t *testing.T) {
	for name, test := range map[string]struct {
		parameters map[string]string
		url        string // of the datastore
		code       codes.Code
		says       string
	}{
		"default datastore":   {map[string]string{"csimigration": "true"}, "ds:///vmfs/volumes/shared/", codes.OK, ""},
		"named datastore":     {map[string]string{"csimigration": "true", "datastore-migrationparam": "local-b", "diskformat-migrationparam": "thin"}, "ds:///vmfs/volumes/b/", codes.OK, ""},
		"no such datastore":   {map[string]string{"csimigration": "true", "datastore-migrationparam": "c"}, "", codes.Internal, "in-tree StorageClass"},
		"another disk format": {map[string]string{"csimigration": "true", "diskformat-migrationparam": "eagerzeroedthick"}, "", codes.InvalidArgument, "diskformat"},
		"vSAN settings":       {map[string]string{"csimigration": "true", "hostfailurestotolerate-migrationparam": "1"}, "", codes.InvalidArgument, "storagepolicyname"},
	} {
		t.Run(name, func(t *testing.T) {
			fake, _ := newCluster(t)
			known := &inTree{}
			c := controller.New(controller.Config{Store: fake, Nodes: fake, Migrated: known})
			r := request("pvc-1", gib, "a", "b")
			r.Parameters = test.parameters
			for range 2 {
				answer, err := c.CreateVolume(t.Context(), r)
				if status.Code(err) != test.code || err != nil && !strings.Contains(err.Error(), test.says) {
					t.Fatal(err)
				}
				if err != nil {
					return
				}
				v := answer.GetVolume()
				if path := v.GetVolumeContext()["initialvolumefilepath"]; path != "[ds] fcd/"+v.GetVolumeId()+".vmdk" {
					t.Errorf("path %q", path)
				}
				at, err := fake.Volume(t.Context(), v.GetVolumeId())
				if err != nil || at.DatastoreURL != test.url {
					t.Errorf("on %s, %v", at.DatastoreURL, err)
				}
			}
			if len(known.remembered) != 2 || known.remembered[0] != known.remembered[1] {
				t.Errorf("remembered %q", known.remembered)
			}
		})
	}
	_, c := newCluster(t)
	r := request("pvc-1", gib, "a")
	r.Parameters = map[string]string{"csimigration": "true"}
	if _, err := c.CreateVolume(t.Context(), r); status.Code(err) != codes.InvalidArgument {
		t.Errorf("without: %v", err)
	}
}
