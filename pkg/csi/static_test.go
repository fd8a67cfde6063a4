package csi_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	csiapi "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/vmware/govmomi/cns"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vslm"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// An existing first-class disk that a bound PersistentVolume names is registered with CNS and attaches. CNS shows the volume with
// the labels of its claim, and with its pod. When its datastore is lost and comes back, the claim has that as its health.
func TestStaticVolume(t *testing.T) {
	lab := sim.Start(t, twoVCenters)
	ctx := t.Context()
	k := fakeCluster()
	e, err := csi.NewEngine(ctx, csi.Options{
		Config: config.Options{
			File: lab.CloudConfigFile(), ReadOptions: config.ReadOptions{ClusterID: "test"}, UserAgent: csi.UserAgent, CallTimeout: 5 * time.Second,
		},
		Kubernetes: k, FullSync: time.Hour, VolumeHealth: time.Hour, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	must(t, err)
	t.Cleanup(e.Close)
	must(t, e.WaitReady(ctx))

	client := lab.Client("us").Client
	ds, err := find.NewFinder(client).Datastore(ctx, "/dc/datastore/ds-west")
	must(t, err)
	task, err := vslm.NewObjectManager(client).CreateDisk(ctx, types.VslmCreateSpec{
		Name: "mine", CapacityInMB: 1024,
		BackingSpec: &types.VslmCreateSpecDiskFileBackingSpec{VslmCreateSpecBackingSpec: types.VslmCreateSpecBackingSpec{Datastore: ds.Reference()}},
	})
	must(t, err)
	info, err := task.WaitForResult(ctx)
	must(t, err)
	id := info.Result.(types.VStorageObject).Config.Id.Id

	api := k.Client.CoreV1()
	_, err = api.PersistentVolumeClaims("default").Create(ctx, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data", Namespace: "default", Labels: map[string]string{"app": "db"}},
		Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: "static"},
	}, metav1.CreateOptions{})
	must(t, err)
	_, err = api.PersistentVolumes().Create(ctx, &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "static"},
		Spec: corev1.PersistentVolumeSpec{
			ClaimRef: &corev1.ObjectReference{Namespace: "default", Name: "data"},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: names.Driver, VolumeHandle: id},
			},
		},
		Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound},
	}, metav1.CreateOptions{})
	must(t, err)
	_, err = api.Pods("default").Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "db-0", Namespace: "default"},
		Spec: corev1.PodSpec{NodeName: "us-1", Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
		}}}},
	}, metav1.CreateOptions{})
	must(t, err)

	publish := func() error {
		_, err := e.Controller.ControllerPublishVolume(ctx, &csiapi.ControllerPublishVolumeRequest{
			VolumeId: id, NodeId: us1, VolumeCapability: capability(),
		})
		return err
	}
	deadline := time.Now().Add(20 * time.Second)
	for err = publish(); err != nil; err = publish() { // as the attacher repeats it
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	records, err := cns.NewClient(ctx, client)
	must(t, err)
	want := []string{"PERSISTENT_VOLUME static", "PERSISTENT_VOLUME_CLAIM data app=db", "POD db-0"}
	for {
		found, err := records.QueryVolume(ctx, &cnstypes.CnsQueryFilter{VolumeIds: []cnstypes.CnsVolumeId{{Id: id}}})
		must(t, err)
		var got []string
		for _, v := range found.Volumes {
			for _, e := range v.Metadata.EntityMetadata {
				m := e.(*cnstypes.CnsKubernetesEntityMetadata)
				text := m.EntityType + " " + m.EntityName
				for _, l := range m.Labels {
					text += " " + l.Key + "=" + l.Value
				}
				got = append(got, text)
			}
		}
		slices.Sort(got)
		if slices.Equal(got, want) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("CNS has %s, want %s", strings.Join(got, ", "), strings.Join(want, ", "))
		}
		time.Sleep(50 * time.Millisecond)
	}
	v, _ := lab.VCenter("us")
	for _, step := range []struct {
		change func(context.Context, types.ManagedObjectReference, ...types.ManagedObjectReference) error
		want   string
	}{{v.Hosts().LoseDatastore, names.Inaccessible}, {v.Hosts().RestoreDatastore, names.Accessible}} {
		must(t, step.change(ctx, ds.Reference()))
		for {
			claim, err := api.PersistentVolumeClaims("default").Get(ctx, "data", metav1.GetOptions{})
			must(t, err)
			if claim.Annotations[names.HealthAnnotation] == step.want {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("annotations are %v, want %s", claim.Annotations, step.want)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
