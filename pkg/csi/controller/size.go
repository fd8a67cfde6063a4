package controller

import (
	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	mib = int64(1) << 20
	gib = int64(1) << 30
	// defaultSize is that of a volume of which nobody said how large it should be: upstream's.
	defaultSize = 10 * gib
	// maxSize is what vSphere makes a disk at most: 62 TiB.
	maxSize = 62 << 10 * gib
)

// size chooses a size in the range: what is required, rounded up to what a disk can have, MiB. ifNone is the size where
// nothing is required; a limit below it is taken instead.
func size(r *csi.CapacityRange, ifNone int64) (int64, error) {
	required, limit := r.GetRequiredBytes(), r.GetLimitBytes()
	switch {
	case required < 0 || limit < 0:
		return 0, invalid("capacity range: %d to %d bytes: not negative", required, limit)
	case limit > 0 && required > limit:
		return 0, invalid("capacity range: %d bytes required, which is more than the limit of %d", required, limit)
	case required > maxSize:
		return 0, status.Errorf(codes.OutOfRange, "capacity range: %d bytes required: a disk has at most %d (62 TiB)", required, maxSize)
	case required == 0:
		required = ifNone
		if limit > 0 {
			required = min(required, limit/mib*mib)
		}
	}
	chosen := (required + mib - 1) / mib * mib
	if chosen == 0 || limit > 0 && chosen > limit {
		return 0, status.Errorf(codes.OutOfRange, "capacity range: %d to %d bytes: the size of a disk is a multiple of 1 MiB, and none is within", required, limit)
	}
	return chosen, nil
}
