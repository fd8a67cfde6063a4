package match

import "testing"

func TestParseUUID(t *testing.T) {
	const want = "42010a3b-1c2d-4e5f-8071-92a3b4c5d6e7"
	for _, s := range []string{want, "42010A3B-1C2D-4E5F-8071-92A3B4C5D6E7", "  " + want + "\n"} {
		u, err := ParseUUID(s)
		if err != nil || u.String() != want {
			t.Errorf("%q: %s, %v", s, u, err)
		}
	}
	for _, s := range []string{
		"", "42010a3b", "42010a3b1c2d4e5f807192a3b4c5d6e7", want + "0", "4201a3b-01c2d-4e5f-8071-92a3b4c5d6e7",
		"g2010a3b-1c2d-4e5f-8071-92a3b4c5d6e7", "00000000-0000-0000-0000-000000000000", "kind://docker/kind/worker-00000000000",
	} {
		if u, err := ParseUUID(s); err == nil || u != (UUID{}) {
			t.Errorf("%q: %s, no error", s, u)
		}
	}
}

func TestSwapped(t *testing.T) {
	u, err := ParseUUID("42010a3b-1c2d-4e5f-8071-92a3b4c5d6e7")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := u.Swapped().String(), "3b0a0142-2d1c-5f4e-8071-92a3b4c5d6e7"; got != want {
		t.Errorf("swapped %s, want %s", got, want)
	}
	if u.Swapped().Swapped() != u {
		t.Error("swapping twice changes it")
	}
}

func FuzzParseUUID(f *testing.F) {
	f.Add("42010a3b-1c2d-4e5f-8071-92a3b4c5d6e7")
	f.Fuzz(func(t *testing.T, s string) {
		u, err := ParseUUID(s)
		if err != nil {
			return
		}
		if again, err := ParseUUID(u.String()); err != nil || again != u {
			t.Errorf("%q: %s reads as %s, %v", s, u, again, err)
		}
	})
}
