// List prices of known models in USD for a million tokens, to begin with: input, cached input and output.
// Providers change prices, so the form says to compare them.
export const modelPrices = {
  "gpt-4.1": [2, 0.5, 8],
  "gpt-4.1-mini": [0.4, 0.1, 1.6],
  "gpt-4.1-nano": [0.1, 0.025, 0.4],
  "gpt-4o": [2.5, 1.25, 10],
  "gpt-4o-mini": [0.15, 0.075, 0.6],
  "gpt-5": [1.25, 0.125, 10],
  "gpt-5-mini": [0.25, 0.025, 2],
  "gpt-5-nano": [0.05, 0.005, 0.4],
  "o3": [2, 0.5, 8],
  "o4-mini": [1.1, 0.275, 4.4],
};
