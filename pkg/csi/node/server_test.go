package node_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

func TestNew(t *testing.T) {
	if _, err := node.New(node.Options{Backend: &scripted{}}); err == nil {
		t.Error("a service without a node id")
	}
	if _, err := node.New(node.Options{NodeID: nodeID}); err == nil {
		t.Error("a service without a backend")
	}
}

func TestCodes(t *testing.T) {
	for want, err := range map[codes.Code]error{
		codes.OK:                 nil,
		codes.NotFound:           volume.ErrNotFound,
		codes.AlreadyExists:      volume.ErrExists,
		codes.FailedPrecondition: volume.ErrState,
		codes.InvalidArgument:    volume.ErrInvalid,
		codes.Unavailable:        volume.ErrUnavailable,
		codes.Aborted:            volume.ErrPending,
		codes.DeadlineExceeded:   context.DeadlineExceeded,
		codes.Canceled:           context.Canceled,
		codes.Internal:           errors.New("mkfs: segmentation fault"),
	} {
		t.Run(want.String(), func(t *testing.T) {
			if err != nil {
				err = fmt.Errorf("disk: %w", err)
			}
			s := newServer(t, node.Options{Backend: &scripted{err: err}})
			ctx := t.Context()
			for name, call := range map[string]func() error{
				"stage":   func() error { _, err := s.NodeStageVolume(ctx, stage("v")); return err },
				"publish": func() error { _, err := s.NodePublishVolume(ctx, publish("v")); return err },
				"expand": func() error {
					_, err := s.NodeExpandVolume(ctx, &csi.NodeExpandVolumeRequest{VolumeId: "v", VolumePath: "/p"})
					return err
				},
				"stats": func() error {
					_, err := s.NodeGetVolumeStats(ctx, &csi.NodeGetVolumeStatsRequest{VolumeId: "v", VolumePath: "/p"})
					return err
				},
				"unpublish": func() error {
					_, err := s.NodeUnpublishVolume(ctx, &csi.NodeUnpublishVolumeRequest{VolumeId: "v", TargetPath: "/p"})
					return err
				},
				"unstage": func() error {
					_, err := s.NodeUnstageVolume(ctx, &csi.NodeUnstageVolumeRequest{VolumeId: "v", StagingTargetPath: "/p"})
					return err
				},
			} {
				t.Run(name, func(t *testing.T) { requireCode(t, call(), want) })
			}
		})
	}
}

// A panic ends one call, and the volume can be used again.
func TestPanic(t *testing.T) {
	first := true
	s := newServer(t, node.Options{Backend: &scripted{stage: func(context.Context, node.Stage) error {
		if first {
			first = false
			panic("nothing there")
		}
		return nil
	}}})
	_, err := s.NodeStageVolume(t.Context(), stage("v"))
	requireCode(t, err, codes.Internal)
	_, err = s.NodeStageVolume(t.Context(), stage("v"))
	requireCode(t, err, codes.OK)
}

// Operations on one volume run one at a time; other volumes do not wait, nor do statistics.
func TestOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most, volumes atomic.Int32
		s := newServer(t, node.Options{Backend: &scripted{stage: func(context.Context, node.Stage) error {
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(time.Second)
			now.Add(-1)
			volumes.Add(1)
			return nil
		}}})
		began := time.Now()
		for range 3 {
			go func() {
				_, err := s.NodeStageVolume(t.Context(), stage("same"))
				requireCode(t, err, codes.OK)
			}()
		}
		synctest.Wait()
		_, err := s.NodeGetVolumeStats(t.Context(), &csi.NodeGetVolumeStatsRequest{VolumeId: "same", VolumePath: "/p"})
		requireCode(t, err, codes.OK)
		if waited := time.Since(began); waited != 0 {
			t.Errorf("statistics waited for %s", waited)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if most.Load() != 1 || volumes.Load() != 3 {
			t.Errorf("%d at once, %d in 3 s; want 1 and 3", most.Load(), volumes.Load())
		}

		for i := range 3 {
			go func() {
				_, err := s.NodeStageVolume(t.Context(), stage(fmt.Sprint("other", i)))
				requireCode(t, err, codes.OK)
			}()
		}
		synctest.Wait()
		if now.Load() != 3 {
			t.Errorf("%d volumes at once, want 3", now.Load())
		}
		if err := s.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A mount that hangs blocks only its own volume; waiting calls get a response in time.
func TestStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		s := newServer(t, node.Options{Timeout: time.Minute, Backend: &scripted{stage: func(_ context.Context, s node.Stage) error {
			if s.Volume == "stuck" {
				<-stuck
			}
			return nil
		}}})
		began := time.Now()
		_, err := s.NodeStageVolume(t.Context(), stage("stuck"))
		requireCode(t, err, codes.DeadlineExceeded)
		if took := time.Since(began); took != time.Minute {
			t.Errorf("answered after %s", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = s.NodeStageVolume(ctx, stage("stuck")) // by a client with a shorter timeout
		requireCode(t, err, codes.Aborted)
		_, err = s.NodeStageVolume(t.Context(), stage("fine"))
		requireCode(t, err, codes.OK)
		if err := s.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("nothing is said to be done: %v", err)
		}
		close(stuck)
		if err := s.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		_, err = s.NodeStageVolume(t.Context(), stage("stuck"))
		requireCode(t, err, codes.OK)
	})
}

// A backend that uses its context ends with the call.
func TestCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, node.Options{Backend: &scripted{stage: func(ctx context.Context, _ node.Stage) error {
			<-ctx.Done()
			return ctx.Err()
		}}})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err := s.NodeStageVolume(ctx, stage("v"))
		requireCode(t, err, codes.Canceled)
		if err := s.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestInfo(t *testing.T) {
	segments := map[string]string{"topology.csi.vmware.com/k8s-zone": "us-west"}
	for name, c := range map[string]struct {
		max      int64
		topology func(context.Context) (map[string]string, error)
		want     int64
		segments int
		code     codes.Code
	}{
		"default":     {want: 59},
		"few":         {max: 5, want: 5},
		"no limit":    {max: -1, want: 0},
		"topology":    {want: 59, segments: 1, topology: func(context.Context) (map[string]string, error) { return segments, nil }},
		"no topology": {want: 59, topology: func(context.Context) (map[string]string, error) { return nil, nil }},
		"not yet":     {topology: func(context.Context) (map[string]string, error) { return nil, errors.New("no answer") }, code: codes.Unavailable},
		"waits":       {topology: func(ctx context.Context) (map[string]string, error) { <-ctx.Done(); return nil, ctx.Err() }, code: codes.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, node.Options{Backend: &scripted{}, MaxVolumes: c.max, Topology: c.topology})
				began := time.Now()
				r, err := s.NodeGetInfo(t.Context(), &csi.NodeGetInfoRequest{})
				requireCode(t, err, c.code)
				if time.Since(began) > time.Minute {
					t.Errorf("answered after %s", time.Since(began))
				}
				if err != nil {
					return
				}
				if r.NodeId != nodeID || r.MaxVolumesPerNode != c.want || len(r.GetAccessibleTopology().GetSegments()) != c.segments {
					t.Errorf("%v", r)
				}
			})
		})
	}
}

func TestCapabilities(t *testing.T) {
	for _, group := range []bool{false, true} {
		s := newServer(t, node.Options{Backend: &scripted{group: group}})
		r, err := s.NodeGetCapabilities(t.Context(), &csi.NodeGetCapabilitiesRequest{})
		if err != nil {
			t.Fatal(err)
		}
		is := slices.ContainsFunc(r.GetCapabilities(), func(c *csi.NodeServiceCapability) bool {
			return c.GetRpc().GetType() == csi.NodeServiceCapability_RPC_VOLUME_MOUNT_GROUP
		})
		if is != group || len(r.GetCapabilities()) < 4 {
			t.Errorf("%v", r)
		}
	}
}
