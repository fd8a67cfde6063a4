package machine

import (
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"
)

func TestSwapped(t *testing.T) {
	for in, want := range map[string]string{
		"12345678-1234-5678-9abc-def012345678": "78563412-3412-7856-9abc-def012345678",
		"78563412-3412-7856-9ABC-DEF012345678": "12345678-1234-5678-9abc-def012345678",
		"":                                     "",
		"vm-42":                                "",
	} {
		if got, err := Swapped(in); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %s, %v; want %s", in, got, err, want)
		}
	}
}

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
