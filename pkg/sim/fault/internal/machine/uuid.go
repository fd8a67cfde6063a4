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
