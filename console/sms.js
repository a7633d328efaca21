// The number of segments of an SMS, as carriers count them (GSM 03.38 and UCS-2).
const BASIC =
  "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§" +
  "¿abcdefghijklmnopqrstuvwxyzäöñüà";
const EXTENDED = "\f^{}\\[~]|€";

/** Return the number of segments, and the characters that fit into the last one. */
export function segmentsOf(text) {
  let units = 0;
  for (const character of text) {
    if (BASIC.includes(character)) units += 1;
    else if (EXTENDED.includes(character)) units += 2;
    else return counted(text.length, 70, 67);
  }
  return counted(units, 160, 153);
}

function counted(units, single, each) {
  if (units <= single) return { segments: 1, left: single - units };
  const segments = Math.ceil(units / each);
  return { segments, left: segments * each - units };
}
