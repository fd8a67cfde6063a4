package cns_test

import (
	"fmt"
	"io"
	"strconv"
	"testing"

	govcns "github.com/vmware/govmomi/cns"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/vim25/xml"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
)

// BenchmarkQueryPage reads pages of 5,000 volumes through SOAP, including the client's part: the default page and the largest.
func BenchmarkQueryPage(b *testing.B) {
	s := serve(b, 1, cns.Options{})
	fill(b, s, 5000)
	for _, size := range []int{100, 1000} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			f := &cnstypes.CnsQueryFilter{ContainerClusterIds: []string{"one"}, Cursor: &cnstypes.CnsCursor{Offset: 2500, Limit: int64(size)}}
			for b.Loop() {
				if r := s.query(b, f); len(r.Volumes) != size || r.Cursor.TotalRecords != 5000 {
					b.Fatalf("%d volumes, %+v", len(r.Volumes), r.Cursor)
				}
			}
		})
	}
}

// BenchmarkQueryServer is the vCenter's part of BenchmarkQueryPage: the page is found, made, and written as XML. The largest is
// to take 50 ms at most.
func BenchmarkQueryServer(b *testing.B) {
	s := serve(b, 1, cns.Options{})
	fill(b, s, 5000)
	for _, size := range []int{100, 1000} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			req := &cnstypes.CnsQueryVolume{Filter: &cnstypes.CnsQueryFilter{
				ContainerClusterIds: []string{"one"}, Cursor: &cnstypes.CnsCursor{Offset: 2500, Limit: int64(size)},
			}}
			for b.Loop() {
				if err := xml.NewEncoder(io.Discard).Encode(s.CnsQueryVolume(s.ctx, req)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkQueryOne looks one volume up among 5,000.
func BenchmarkQueryOne(b *testing.B) {
	s := serve(b, 1, cns.Options{})
	ids := fill(b, s, 5000)
	for b.Loop() {
		if r := s.query(b, &cnstypes.CnsQueryFilter{VolumeIds: []cnstypes.CnsVolumeId{{Id: ids[4000]}}}); len(r.Volumes) != 1 {
			b.Fatalf("%d volumes", len(r.Volumes))
		}
	}
}

// BenchmarkAttach attaches one of 5,000 volumes, by a task that a client waits for; 20 ms at most.
func BenchmarkAttach(b *testing.B) {
	s := serve(b, 1, cns.Options{})
	id := fill(b, s, 5000)[2500]
	for b.Loop() {
		fine(b, s.attach(b, id, s.vms[0]))
		b.StopTimer()
		fine(b, s.detach(b, id, s.vms[0]))
		b.StartTimer()
	}
}

// BenchmarkCreate makes volumes beside 5,000.
func BenchmarkCreate(b *testing.B) {
	s := serve(b, 1, cns.Options{})
	fill(b, s, 5000)
	n := 0
	for b.Loop() {
		s.create(b, spec(fmt.Sprint("more-", n), "one", 1))
		n++
	}
}

// fill makes volumes through the manager itself, which takes a tenth of the time.
func fill(t testing.TB, s *server, n int) []string {
	t.Helper()
	ids := make([]string, n)
	for i := range ids {
		sp := spec(fmt.Sprintf("pvc-%05d", i), "one", 1)
		sp.Metadata.EntityMetadata = []cnstypes.BaseCnsEntityMetadata{
			entity(cnstypes.CnsKubernetesEntityTypePV, "", sp.Name, "one", kv("app", "web")),
			entity(cnstypes.CnsKubernetesEntityTypePVC, "default", sp.Name, "one", kv("app", "web")),
		}
		s.CnsCreateVolume(s.ctx, &cnstypes.CnsCreateVolume{This: govcns.CnsVolumeManagerInstance, CreateSpecs: []cnstypes.CnsVolumeCreateSpec{sp}})
	}
	waitFor(t, func() bool { return len(s.Volumes()) == n })
	for i, v := range s.Volumes() {
		ids[i] = v.ID
	}
	return ids
}
