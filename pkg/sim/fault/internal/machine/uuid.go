package machine

import (
	"math/rand/v2"

	"github.com/google/uuid"
)

// UUID draws one.
func UUID(r *rand.Rand) string {
	var id uuid.UUID
	for i := range id {
		id[i] = byte(r.Uint32())
	}
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80 // version 4, as RFC 9562 has it
	return id.String()
}

// Swapped is a UUID with the bytes of its first three fields in the other order: what firmware that takes the fields for
// little-endian numbers makes of it.
func Swapped(text string) (string, error) {
	id, err := uuid.Parse(text)
	if err != nil {
		return "", err
	}
	id[0], id[1], id[2], id[3] = id[3], id[2], id[1], id[0]
	id[4], id[5], id[6], id[7] = id[5], id[4], id[7], id[6]
	return id.String(), nil
}
