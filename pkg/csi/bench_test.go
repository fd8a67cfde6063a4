package csi_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/vmware/govmomi/cns"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// BenchmarkFullSync measures a full sync of 5,000 volumes whose records and health annotations agree: its time, and the calls to vCenters.
func BenchmarkFullSync(b *testing.B) {
	lab, k := recorded(b, 5000)
	syncs, done := make(chan float64), make(chan struct{})
	startEngine(b, lab, k, 2*time.Second, slog.New(syncLog{syncs, done}))
	b.Cleanup(func() { close(done) })
	for annotated := false; !annotated; { // the first ones write the health of all volumes
		<-syncs
		annotated = healthKnown(b, k)
	}
	before, seconds := callsTo(lab, isCall), 0.0
	for b.Loop() {
		seconds += <-syncs
	}
	b.ReportMetric(seconds/float64(b.N), "s/sync")
	b.ReportMetric(float64(callsTo(lab, isCall)-before)/float64(b.N), "calls/sync")
}

// BenchmarkIdle measures the calls to vCenters of a controller with its syncer, per vCenter and minute, while nothing happens and
// between two full syncs. Each round is a minute of the clock.
func BenchmarkIdle(b *testing.B) {
	lab, k := recorded(b, 100)
	syncs, done := make(chan float64, 1), make(chan struct{})
	startEngine(b, lab, k, time.Hour, slog.New(syncLog{syncs, done}))
	b.Cleanup(func() { close(done) })
	<-syncs
	settle(lab)
	isWait := func(method string) bool { return !isCall(method) }
	calls, waits := callsTo(lab, isCall), callsTo(lab, isWait)
	isQuery := func(method string) bool { return method == "CnsQueryVolume" }
	queries := callsTo(lab, isQuery)
	for b.Loop() {
		time.Sleep(time.Minute)
	}
	rounds := float64(b.N * len(benchVCenters()))
	b.ReportMetric(float64(callsTo(lab, isCall)-calls)/rounds, "calls/vcenter/min")
	b.ReportMetric(float64(callsTo(lab, isWait)-waits)/rounds, "waits/vcenter/min")
	b.ReportMetric(float64(callsTo(lab, isQuery)-queries)/rounds, "syncer-calls/vcenter/min") // no sidecar asks for volumes here
}

// healthKnown reports whether all claims have their annotation.
func healthKnown(b *testing.B, k *csi.Kubernetes) bool {
	b.Helper()
	claims, err := k.Client.CoreV1().PersistentVolumeClaims("default").List(b.Context(), metav1.ListOptions{})
	if err != nil {
		b.Fatal(err)
	}
	return !slices.ContainsFunc(claims.Items, func(c corev1.PersistentVolumeClaim) bool { return c.Annotations[names.HealthAnnotation] == "" })
}

// settle returns when the driver has called no vCenter for 15 seconds: what it reads once, at its start, is read.
func settle(lab *sim.Lab) {
	for quiet, calls := 0, callsTo(lab, isCall); quiet < 15; quiet++ {
		time.Sleep(time.Second)
		if now := callsTo(lab, isCall); now != calls {
			quiet, calls = 0, now
		}
	}
}

func benchVCenters() []string { return []string{"us", "eu"} }

// isCall reports whether a method asks a vCenter for something, and does not wait for changes.
func isCall(method string) bool { return method != "WaitForUpdatesEx" }

// callsTo counts the calls of the driver.
func callsTo(lab *sim.Lab, counts func(method string) bool) (sum int64) {
	for _, name := range benchVCenters() {
		v, _ := lab.VCenter(name)
		for _, s := range v.Gate().Stats() {
			if s.Client == csi.UserAgent && counts(s.Method) {
				sum += s.Calls
			}
		}
	}
	return sum
}

// startEngine runs the driver until the benchmark ends.
func startEngine(b *testing.B, lab *sim.Lab, k *csi.Kubernetes, fullSync time.Duration, log *slog.Logger) {
	b.Helper()
	e, err := csi.NewEngine(b.Context(), csi.Options{
		Config: config.Options{
			File: lab.CloudConfigFile(), ReadOptions: config.ReadOptions{ClusterID: "test"}, UserAgent: csi.UserAgent, CallTimeout: 30 * time.Second,
		},
		Kubernetes: k, FullSync: fullSync, VolumeHealth: 5 * time.Minute, Logger: log,
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(e.Close)
}

// recorded returns two vCenters and a cluster with volumes whose records agree.
func recorded(b *testing.B, volumes int) (*sim.Lab, *csi.Kubernetes) {
	b.Helper()
	lab := sim.Start(b, twoVCenters)
	ctx, k := b.Context(), fakeCluster()
	check := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	client, err := cns.NewClient(ctx, lab.Client("us").Client)
	check(err)
	cluster := cnstypes.CnsContainerCluster{ClusterType: string(cnstypes.CnsClusterTypeKubernetes), ClusterId: "test", VSphereUser: "u", ClusterFlavor: string(cnstypes.CnsClusterFlavorVanilla)}
	var creating errgroup.Group
	creating.SetLimit(32)
	for i := range volumes {
		creating.Go(func() error {
			name := fmt.Sprintf("pv-%d", i)
			task, err := client.CreateVolume(ctx, []cnstypes.CnsVolumeCreateSpec{{
				Name: name, VolumeType: string(cnstypes.CnsVolumeTypeBlock),
				Metadata: cnstypes.CnsVolumeMetadata{
					ContainerCluster: cluster, ContainerClusterArray: []cnstypes.CnsContainerCluster{cluster},
					EntityMetadata: []cnstypes.BaseCnsEntityMetadata{&cnstypes.CnsKubernetesEntityMetadata{
						CnsEntityMetadata: cnstypes.CnsEntityMetadata{EntityName: name, ClusterID: "test"}, EntityType: string(cnstypes.CnsKubernetesEntityTypePV),
					}, &cnstypes.CnsKubernetesEntityMetadata{
						CnsEntityMetadata: cnstypes.CnsEntityMetadata{EntityName: name, ClusterID: "test"}, Namespace: "default",
						EntityType: string(cnstypes.CnsKubernetesEntityTypePVC), ReferredEntity: []cnstypes.CnsKubernetesEntityReference{{
							EntityType: string(cnstypes.CnsKubernetesEntityTypePV), EntityName: name, ClusterID: "test",
						}},
					}},
				},
				BackingObjectDetails: &cnstypes.CnsBlockBackingDetails{CnsBackingObjectDetails: cnstypes.CnsBackingObjectDetails{CapacityInMb: 1}},
			}})
			if err != nil {
				return err
			}
			info, err := cns.GetTaskInfo(ctx, task)
			if err != nil {
				return err
			}
			result, err := cns.GetTaskResult(ctx, info)
			if err != nil {
				return err
			}
			_, err = k.Client.CoreV1().PersistentVolumes().Create(ctx, &corev1.PersistentVolume{
				ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec: corev1.PersistentVolumeSpec{
					ClaimRef: &corev1.ObjectReference{Namespace: "default", Name: name},
					PersistentVolumeSource: corev1.PersistentVolumeSource{
						CSI: &corev1.CSIPersistentVolumeSource{Driver: names.Driver, VolumeHandle: result.GetCnsVolumeOperationResult().VolumeId.Id},
					},
				},
				Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound},
			}, metav1.CreateOptions{})
			if err != nil {
				return err
			}
			_, err = k.Client.CoreV1().PersistentVolumeClaims("default").Create(ctx, &corev1.PersistentVolumeClaim{
				ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: name},
			}, metav1.CreateOptions{})
			return err
		})
	}
	check(creating.Wait())
	return lab, k
}

// syncLog sends the seconds of each full sync.
type syncLog struct {
	to   chan float64
	done chan struct{}
}

func (syncLog) Enabled(context.Context, slog.Level) bool { return true }
func (l syncLog) WithAttrs([]slog.Attr) slog.Handler     { return l }
func (l syncLog) WithGroup(string) slog.Handler          { return l }

func (l syncLog) Handle(_ context.Context, r slog.Record) error {
	if r.Message != "full sync" {
		return nil
	}
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "seconds" {
			select {
			case l.to <- a.Value.Float64():
			case <-l.done:
			}
		}
		return true
	})
	return nil
}
