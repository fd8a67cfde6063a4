package controller_test

import (
	"bytes"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"
)

// posted reads the file: its StorageClasses by name, and its claims.
func posted(t *testing.T) (map[string]*storagev1.StorageClass, []*corev1.PersistentVolumeClaim) {
	t.Helper()
	data, err := os.ReadFile("testdata/posted/claims.yaml")
	if err != nil {
		t.Fatal(err)
	}
	classes := map[string]*storagev1.StorageClass{}
	var claims []*corev1.PersistentVolumeClaim
	for doc := range bytes.SplitSeq(data, []byte("\n---\n")) {
		class, claim := &storagev1.StorageClass{}, &corev1.PersistentVolumeClaim{}
		if err := yaml.UnmarshalStrict(doc, class); err == nil && class.Kind == "StorageClass" {
			classes[class.Name] = class
			continue
		}
		if err := yaml.UnmarshalStrict(doc, claim); err != nil {
			t.Fatal(err)
		}
		claims = append(claims, claim)
	}
	return classes, claims
}

// requestOf is what external-provisioner makes of a claim in a cluster with zones a and b.
func requestOf(claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass) *csi.CreateVolumeRequest {
	size := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	r := request("pvc-"+claim.Name, size.Value(), "a", "b")
	r.Parameters = maps.Clone(class.Parameters)
	fs := "ext4"
	for key, value := range class.Parameters {
		if lower := strings.ToLower(key); lower == "fstype" || lower == "csi.storage.k8s.io/fstype" {
			fs = value
		}
		if strings.HasPrefix(key, "csi.storage.k8s.io/") {
			delete(r.Parameters, key)
		}
	}
	r.VolumeCapabilities = nil
	for _, mode := range claim.Spec.AccessModes {
		c := capability(map[corev1.PersistentVolumeAccessMode]csi.VolumeCapability_AccessMode_Mode{
			corev1.ReadWriteOnce: csi.VolumeCapability_AccessMode_SINGLE_NODE_MULTI_WRITER, corev1.ReadWriteOncePod: csi.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER,
			corev1.ReadWriteMany: csi.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER, corev1.ReadOnlyMany: csi.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY,
		}[mode])
		c.GetMount().FsType = fs
		if claim.Spec.VolumeMode != nil && *claim.Spec.VolumeMode == corev1.PersistentVolumeBlock {
			c.AccessType = raw().AccessType
		}
		r.VolumeCapabilities = append(r.VolumeCapabilities, c)
	}
	if s := claim.Spec.DataSource; s != nil && s.Kind == "PersistentVolumeClaim" {
		r.VolumeContentSource = &csi.VolumeContentSource{Type: &csi.VolumeContentSource_Volume{Volume: &csi.VolumeContentSource_VolumeSource{VolumeId: "v"}}}
	}
	return r
}

// Each posted claim is made or refused as its annotation says.
func TestPosted(t *testing.T) {
	classes, claims := posted(t)
	for _, claim := range claims {
		t.Run(claim.Name, func(t *testing.T) {
			_, c := newCluster(t)
			answer, err := c.CreateVolume(t.Context(), requestOf(claim, classes[*claim.Spec.StorageClassName]))
			outcome, rest, _ := strings.Cut(claim.Annotations["outcome"], " ")
			if outcome == "made" {
				want := resource.MustParse(rest)
				if err != nil || answer.GetVolume().GetCapacityBytes() != want.Value() {
					t.Errorf("%d bytes, %v, want %s", answer.GetVolume().GetCapacityBytes(), err, rest)
				}
				return
			}
			if st := status.Convert(err); st.Code().String() != outcome || !strings.Contains(st.Message(), rest) {
				t.Errorf("%s: %s, want %s with %q", st.Code(), st.Message(), outcome, rest)
			}
		})
	}
}
