package vms

import (
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"
)

func TestUUID(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	one, two, again := UUID(r), UUID(r), UUID(rand.New(rand.NewPCG(1, 2)))
	if one == two || one != again {
		t.Errorf("drew %s, %s, and %s of the same seed", one, two, again)
	}
	if id, err := uuid.Parse(one); err != nil || id.Version() != 4 || id.Variant() != uuid.RFC4122 {
		t.Errorf("%s: %v, version %d", one, err, id.Version())
	}
}
